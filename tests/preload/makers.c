/* Threads make communicators of the same processes at once, each thread from a parent of its own: the order in which
 * they are made differs between processes. Names say which is which. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 3 };

static int rounds = 20;

struct work {
    MPI_Comm parent;
    int number;
    int rank;
};

static void use(MPI_Comm comm, int thread, int round, const char *how) {
    char name[64];
    int value = thread;
    snprintf(name, sizeof name, "thread %d round %d %s", thread, round, how);
    MPI_Comm_set_name(comm, name);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm);
    MPI_Comm_free(&comm);
}

static void *make(void *argument) {
    const struct work *work = argument;
    MPI_Comm made;
    MPI_Group group;
    MPI_Request request;
    MPI_Comm_group(work->parent, &group);
    for (int round = 0; round < rounds; ++round) {
        /* Another thread is first on each process. */
        struct timespec pause = {0, 1000000L * ((work->number + work->rank + round) % THREADS)};
        nanosleep(&pause, NULL);
        MPI_Comm_dup(work->parent, &made);
        use(made, work->number, round, "dup");
        MPI_Comm_idup(work->parent, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        use(made, work->number, round, "idup");
        MPI_Comm_create_group(work->parent, group, work->number, &made);
        use(made, work->number, round, "group");
    }
    MPI_Group_free(&group);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    struct work works[THREADS];
    pthread_t threads[THREADS];
    if (argc > 1)
        rounds = atoi(argv[1]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < THREADS; ++i) {
        works[i].number = i;
        MPI_Comm_rank(MPI_COMM_WORLD, &works[i].rank);
        MPI_Comm_dup(MPI_COMM_WORLD, &works[i].parent);
    }
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, make, &works[i]);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&works[i].parent);
    MPI_Finalize();
    return 0;
}
