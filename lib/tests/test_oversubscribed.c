/* Where processes share processors, the library never blocks in MPI: a process that spins keeps the processor from the
 * one that it waits for. Here each process believes that it shares. Until a distant deadline, all of them sleep. */
#include "base/message.h"
#include "check_mpi.h"
#include "start/processors.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define DELAY 20e-3
/* message.c never sleeps longer where it waits for a message. */
#define LONGEST_NAP_SECONDS 0.8e-3

static int shared;
static int blocking; /* calls of MPI by the library that block */
static double longest_sleep;

/* The actions of a wait for a message so far, while its test is made to fail. */
#define MOST_NAPS 8
static int failing_looks;
static int yields;
static int naps;
static double nap_seconds[MOST_NAPS];

/* The linker leads to these (CMakeLists.txt). */
int __wrap_db_processors_find(MPI_Comm comm, struct db_processors *found); /* NOLINT: the linker's names */
int __wrap_nanosleep(const struct timespec *asked, struct timespec *left); /* NOLINT */
int __real_nanosleep(const struct timespec *asked, struct timespec *left); /* NOLINT */
int __wrap_sched_yield(void);                                              /* NOLINT */
int __real_sched_yield(void);                                              /* NOLINT */

int __wrap_db_processors_find(MPI_Comm comm, struct db_processors *found) { /* NOLINT */
    (void)comm;
    *found = (struct db_processors){.oversubscribed = shared};
    return MPI_SUCCESS;
}

int __wrap_nanosleep(const struct timespec *asked, struct timespec *left) { /* NOLINT */
    double seconds = (double)asked->tv_sec + 1e-9 * (double)asked->tv_nsec;
    longest_sleep = seconds > longest_sleep ? seconds : longest_sleep;
    if (failing_looks > 0 && naps < MOST_NAPS)
        nap_seconds[naps++] = seconds;
    return __real_nanosleep(asked, left);
}

int __wrap_sched_yield(void) { /* NOLINT */
    yields += naps == 0;
    return __real_sched_yield();
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    if (failing_looks == 0)
        return PMPI_Test(request, done, status);
    --failing_looks;
    *done = failing_looks == 0;
    return *done ? PMPI_Wait(request, status) : MPI_SUCCESS;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    ++blocking;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    ++blocking;
    return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}

int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    ++blocking;
    return PMPI_Reduce(from, to, count, type, op, root, comm);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    ++blocking;
    return PMPI_Wait(request, status);
}

/* Synchronizes clocks and makes starts on a new communicator; counts from when it is prepared. */
static void start(MPI_Comm of) {
    MPI_Comm comm;
    int flag;
    OK(MPI_Comm_dup(of, &comm));
    harmonize(comm);
    CHECK_THAT(stats_of(comm).oversubscribed, ==, shared);
    long long messages = stats_of(comm).sync_messages;
    blocking = 0;
    longest_sleep = 0.0;
    OK(MPIX_Harmonize_sync(comm));
    OK(MPIX_Harmonize_delayed(comm, DELAY, &flag));
    CHECK_THAT(stats_of(comm).sync_messages, >, messages); /* what would have blocked */
    OK(MPI_Comm_free(&comm));
}

/* A message that is there after this many checks. */
static void receive_after(int looks) {
    const enum db_patience patience = DB_YIELD;
    const struct db_channel channel = {.comm = MPI_COMM_SELF, .patience = &patience};
    int64_t sent = 42;
    int64_t received = 0;
    MPI_Request request;
    OK(MPI_Isend(&sent, 1, MPI_INT64_T, 0, 0, MPI_COMM_SELF, &request));
    failing_looks = looks;
    yields = 0;
    naps = 0;
    OK(db_receive(&channel, &received, 1, 0));
    CHECK_THAT(received, ==, 42);
    OK(PMPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A short wait yields at each check, and never sleeps; a long one sleeps longer and longer, but never too long. */
static void waits_for_messages(void) {
    receive_after(100);
    CHECK_THAT(yields, ==, 99);
    CHECK_THAT(naps, ==, 0);
    receive_after(500 + MOST_NAPS);
    CHECK_THAT(yields, ==, 500);
    CHECK_THAT(naps, ==, MOST_NAPS - 1);
    CHECK_THAT(nap_seconds[0], <, 0.1 * LONGEST_NAP_SECONDS);
    for (int i = 1; i < naps; ++i)
        CHECK_THAT(nap_seconds[i], ==, fmin(2.0 * nap_seconds[i - 1], LONGEST_NAP_SECONDS));
    CHECK_THAT(nap_seconds[naps - 1], ==, LONGEST_NAP_SECONDS);
}

int main(int argc, char **argv) {
    setenv("DOWNBEAT_VALIDATION", "offset=1e-3,skew=1e-6", 1); /* a clock for each rank */
    MPI_Init(&argc, &argv);
    waits_for_messages();
    int least = 0; /* on any process; 0 after a call that a process without a processor has held up */
    for (int attempt = 0; attempt < 100 && least <= 2; ++attempt) {
        start(MPI_COMM_WORLD);
        OK(MPI_Allreduce(&blocking, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    }
    CHECK_THAT(least, >, 2);
    CHECK_THAT(longest_sleep, >, LONGEST_NAP_SECONDS); /* whoever waits for long */
    shared = 1;
    start(MPI_COMM_WORLD);
    CHECK_THAT(blocking, ==, 0);
    CHECK_THAT(longest_sleep, >, LONGEST_NAP_SECONDS);
    MPI_Finalize();
    return 0;
}
