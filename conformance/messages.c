/* The application's messages and requests stay its own. */
#include "conformance.h"

#include <stdlib.h>

enum { CALLS = 20, LONGEST = 4096 };

/* A receive from anybody with any tag, posted before the calls, waits for the application's message. */
static void wildcard(const struct run *run) {
    static char buffer[LONGEST];
    MPI_Comm comm;
    MPI_Request request;
    MPI_Status status;
    int complete = 0;
    int count;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    OK(MPI_Irecv(buffer, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
    for (int i = 0; i < CALLS && !complete; ++i) {
        int flag;
        OK(HARMONIZE(comm, &flag));
        MPI_Test(&request, &complete, &status);
        expect(!complete, "a receive from MPI_ANY_SOURCE with MPI_ANY_TAG got a message that is not the application's");
        MPI_Allreduce(MPI_IN_PLACE, &complete, 1, MPI_INT, MPI_MAX, run->world);
    }
    if (!complete) {
        char mine = (char)run->rank;
        int to = (run->rank + 1) % run->size;
        OK(MPI_Send(&mine, 1, MPI_BYTE, to, 3, comm));
        OK(MPI_Wait(&request, &status));
        MPI_Get_count(&status, MPI_BYTE, &count);
        expect(count == 1 && status.MPI_TAG == 3, "the message received has tag %d and %d bytes", status.MPI_TAG,
               count);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &complete, &status);
        expect(!complete, "a message with tag %d is left on the communicator", status.MPI_TAG);
    }
    MPI_Comm_free(&comm);
}

/* Messages that wait to be received, with the smallest and the largest tags and those that libraries like. */
static void unreceived(const struct run *run) {
    const int common[] = {0, 1, 2, 3, 7, 42, 99, 100, 123, 666, 999, 1000, 1234, 4711, 9999, 32767};
    enum { TAGS = sizeof common / sizeof *common + 1 };
    int tags[TAGS];
    double sent[TAGS];
    MPI_Request requests[TAGS];
    MPI_Comm comm;
    int *largest;
    int found;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_attr(comm, MPI_TAG_UB, (void *)&largest, &found);
    for (int i = 0; i < TAGS; ++i) {
        tags[i] = i + 1 < TAGS ? common[i] : *largest;
        sent[i] = 1000.0 * run->rank + i;
    }
    /* From everyone to the next one: on one process alone, to itself. */
    int to = (run->rank + 1) % run->size;
    int from = (run->rank + run->size - 1) % run->size;
    for (int i = 0; i < TAGS; ++i)
        OK(MPI_Isend(&sent[i], 1, MPI_DOUBLE, to, tags[i], comm, &requests[i]));
    for (int i = 0; i < CALLS; ++i) {
        int flag;
        OK(HARMONIZE(comm, &flag));
    }
    for (int i = 0; i < TAGS; ++i) {
        int here = 0;
        double received = -1.0;
        for (double begin = now(); !here && now() - begin < 2.0;)
            MPI_Iprobe(from, tags[i], comm, &here, MPI_STATUS_IGNORE);
        expect(here, "the application's message with tag %d is gone", tags[i]);
        if (here)
            OK(MPI_Recv(&received, 1, MPI_DOUBLE, from, tags[i], comm, MPI_STATUS_IGNORE));
        expect(received == 1000.0 * from + i, "the application's message with tag %d was replaced", tags[i]);
    }
    for (int i = 0; i < TAGS; ++i) {
        int complete = 0;
        for (double begin = now(); !complete && now() - begin < 2.0;)
            MPI_Test(&requests[i], &complete, MPI_STATUS_IGNORE);
        if (!complete)
            MPI_Request_free(&requests[i]);
    }
    MPI_Barrier(run->world);
    MPI_Comm_free(&comm);
}

/* Nonblocking collectives that began before and end after, in the order that MPI asks for. */
static void pending_collectives(const struct run *run) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < CALLS; ++i) {
        int flag;
        int value = run->rank == 0 ? i : -1;
        int sum = -1;
        MPI_Request requests[3];
        MPI_Status statuses[3];
        OK(MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &requests[0]));
        OK(HARMONIZE(comm, &flag));
        OK(MPI_Iallreduce(&run->rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]));
        OK(HARMONIZE(comm, &flag));
        OK(MPI_Ibarrier(comm, &requests[2]));
        OK(MPI_Waitall(3, requests, statuses));
        expect(value == i, "a broadcast that was pending brought %d, not %d", value, i);
        expect(sum == run->size * (run->size - 1) / 2, "a reduction that was pending brought %d", sum);
    }
    MPI_Comm_free(&comm);
}

enum { LARGE = 1 << 20, LATE_CALLS = 24 };

static char sent[LARGE];
static char received[LARGE];

/* Process 0 is in the call already when process 1, which is to come after that, does something that process 0 has to
 * serve. Process 1 has begun it before, where it is called twice. */
struct service {
    void (*before)(int rank, int length, MPI_Comm comm, MPI_Request *request);
    void (*there)(int rank, int length, MPI_Comm comm);
};

static void receive_later(int rank, int length, MPI_Comm comm, MPI_Request *request) {
    if (rank == 0)
        OK(MPI_Irecv(received, length, MPI_BYTE, 1, 4, comm, request));
    MPI_Barrier(comm); /* for MPI_Rsend */
}

static void send_later(int rank, int length, MPI_Comm comm, MPI_Request *request) {
    if (rank == 0)
        OK(MPI_Isend(sent, length, MPI_BYTE, 1, 4, comm, request));
}

static void begin_barrier(int rank, int length, MPI_Comm comm, MPI_Request *request) {
    (void)length;
    if (rank == 0)
        OK(MPI_Ibarrier(comm, request));
}

static void send_synchronously(int rank, int length, MPI_Comm comm) {
    (void)rank;
    OK(MPI_Ssend(sent, length, MPI_BYTE, 0, 4, comm));
}

static void send_ready(int rank, int length, MPI_Comm comm) {
    (void)rank;
    OK(MPI_Rsend(sent, length, MPI_BYTE, 0, 4, comm));
}

static void receive(int rank, int length, MPI_Comm comm) {
    (void)rank;
    OK(MPI_Recv(received, length, MPI_BYTE, 0, 4, comm, MPI_STATUS_IGNORE));
}

static void complete_barrier(int rank, int length, MPI_Comm comm) {
    MPI_Request request;
    (void)rank;
    (void)length;
    OK(MPI_Ibarrier(comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* Two processes of the communicator, and a call of all. */
static void serve(const struct run *run, const struct service *service, int length, MPI_Comm comm, MPI_Comm two) {
    MPI_Request request = MPI_REQUEST_NULL;
    int flag;
    if (run->rank < 2)
        service->before(run->rank, length, two, &request);
    if (run->rank == 1) {
        pause_for(5e-3); /* process 0 is in the call by then */
        service->there(run->rank, length, two);
    }
    OK(HARMONIZE(comm, &flag));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* Process 1 writes into memory of process 0, which is in the call, and comes when that is complete. */
static void put(const struct run *run, MPI_Comm comm, MPI_Comm two) {
    MPI_Win window;
    int flag;
    if (run->rank < 2) {
        OK(MPI_Win_create(received, LARGE, 1, MPI_INFO_NULL, two, &window));
        MPI_Barrier(two);
    }
    if (run->rank == 1) {
        pause_for(5e-3);
        for (int length = 1; length <= LARGE; length *= 1024) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
            OK(MPI_Put(sent, length, MPI_BYTE, 0, 0, length, MPI_BYTE, window));
            OK(MPI_Win_unlock(0, window));
        }
    }
    OK(HARMONIZE(comm, &flag));
    if (run->rank < 2)
        OK(MPI_Win_free(&window));
}

/* A process in the call serves the application's messages: process 1 comes only when they have ended. */
static void progress(const struct run *run) {
    static const struct service services[] = {{receive_later, send_synchronously},
                                              {receive_later, send_ready},
                                              {send_later, receive},
                                              {begin_barrier, complete_barrier}};
    MPI_Comm comm;
    MPI_Comm two;
    if (run->size == 1) {
        skip("needs two processes");
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_split(MPI_COMM_WORLD, run->rank < 2 ? 0 : MPI_UNDEFINED, run->rank, &two);
    for (int late = 0; late < 2; ++late) { /* an implementation may do something else after some calls */
        for (size_t i = 0; i < sizeof services / sizeof *services; ++i)
            for (int length = 1; length <= LARGE; length *= 1024)
                serve(run, &services[i], length, comm, two);
        put(run, comm, two);
        for (int i = 0; i < LATE_CALLS; ++i) {
            int flag;
            OK(HARMONIZE(comm, &flag));
        }
    }
    if (two != MPI_COMM_NULL)
        MPI_Comm_free(&two);
    MPI_Comm_free(&comm);
}

const struct check checks_of_messages[] = {
    {"wildcard", "no message of the call can be received by the application", wildcard},
    {"unreceived", "no message of the application can be received by the call", unreceived},
    {"pending", "nonblocking collectives may be pending during the call", pending_collectives},
    {"progress", "messages of the application make progress during the call", progress},
    {0},
};
