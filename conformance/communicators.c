/* Every intracommunicator, on its own. */
#include "conformance.h"

static void call_often(MPI_Comm comm, int calls) {
    for (int i = 0; i < calls; ++i) {
        int flag;
        OK(HARMONIZE(comm, &flag));
    }
}

/* Processes with even ranks call, and only then send the others the message that these wait for. */
static void subset(const struct run *run) {
    MPI_Comm part;
    char byte = 0;
    MPI_Comm_split(MPI_COMM_WORLD, run->rank % 2, run->rank, &part);
    if (run->size == 1)
        skip("needs two processes");
    if (run->rank % 2 == 0) {
        call_often(part, 5);
        if (run->rank + 1 < run->size)
            MPI_Send(&byte, 1, MPI_CHAR, run->rank + 1, 2, run->world);
    } else {
        MPI_Recv(&byte, 1, MPI_CHAR, run->rank - 1, 2, run->world, MPI_STATUS_IGNORE);
    }
    call_often(part, run->rank % 2 == 0 ? 3 : 7); /* both parts at once, independently */
    MPI_Comm_free(&part);
}

/* Communicators in which each process has another rank than in MPI_COMM_WORLD; one lacks process 0. */
static void reordered(const struct run *run) {
    MPI_Comm backward;
    MPI_Comm without_first;
    MPI_Comm_split(MPI_COMM_WORLD, 0, run->size - run->rank, &backward);
    MPI_Comm_split(MPI_COMM_WORLD, run->rank > 0 ? 0 : MPI_UNDEFINED, run->size - run->rank, &without_first);
    if (run->size == 1)
        skip("needs two processes");
    for (int i = 0; i < 5; ++i) {
        int flag;
        if (run->rank == i % run->size)
            pause_for(2e-3);
        OK(HARMONIZE(backward, &flag));
        if (without_first != MPI_COMM_NULL)
            OK(HARMONIZE(without_first, &flag));
    }
    if (without_first != MPI_COMM_NULL)
        MPI_Comm_free(&without_first);
    MPI_Comm_free(&backward);
}

/* A group of one waits for nobody. */
static void alone(const struct run *run) {
    MPI_Comm mine;
    MPI_Comm_split(MPI_COMM_WORLD, run->rank, 0, &mine);
    const MPI_Comm comms[] = {MPI_COMM_SELF, mine};
    for (int c = 0; c < 2; ++c) {
        int count = 0;
        for (int i = 0; i < 50; ++i) {
            int flag = 0;
            OK(HARMONIZE(comms[c], &flag));
            count += flag != 0;
        }
        expect(count > 0, "%s: no flag was true in 50 calls",
               c == 0 ? "MPI_COMM_SELF" : "a communicator of one process");
    }
    MPI_Comm_free(&mine);
}

/* A communicator's state is not shared with its duplicate: either works when the other is freed. */
static void duplicate(const struct run *run) {
    MPI_Comm first;
    MPI_Comm second;
    (void)run;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    call_often(first, 3);
    MPI_Comm_dup(first, &second);
    call_often(second, 3);
    call_often(first, 3);
    MPI_Comm_free(&first);
    call_often(second, 3);
    MPI_Comm_dup(second, &first);
    MPI_Comm_free(&second);
    call_often(first, 3);
    MPI_Comm_free(&first);
}

/* MPI libraries have a few thousand communicators, some only 2048: a leak shows. */
static void freed(const struct run *run) {
    const double begin = now();
    int made = 0;
    for (int go_on = 1; go_on; ++made) {
        MPI_Comm comm = MPI_COMM_NULL;
        int flag;
        int good = MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS && HARMONIZE(comm, &flag) == MPI_SUCCESS;
        expect(good, "communicator %d could not be made and harmonized after all others were freed", made + 1);
        go_on = good && made + 1 < run->communicators && now() - begin < run->patience;
        MPI_Allreduce(MPI_IN_PLACE, &go_on, 1, MPI_INT, MPI_MIN, run->world);
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }
    note("%d communicators made, harmonized and freed, of %d", made, run->communicators);
}

const struct check checks_of_communicators[] = {
    {"subset", "a part of the processes may call while the others do something else", subset},
    {"reordered", "ranks are those of the communicator, not those of MPI_COMM_WORLD", reordered},
    {"alone", "a process alone returns, and its flag is true", alone},
    {"duplicate", "a communicator and its duplicate are independent, in life and death", duplicate},
    {"freed", "what a communicator needs is given back with it", freed},
    {0},
};
