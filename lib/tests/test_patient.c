/* Where processes share processors, the library never blocks in MPI, and sleeps until a deadline that is far away: who
 * spins keeps the processor from the one that it waits for. Here each process is told that it shares. */
#include "check_mpi.h"
#include "processors.h"

#include <stdlib.h>
#include <time.h>

#define DELAY 20e-3
/* message.c never sleeps longer where it waits for a message. */
#define LONGEST_NAP_SECONDS 0.8e-3

static int shared;
static int blocking; /* calls of MPI by the library that block */
static double longest_sleep;

/* The linker leads to these (CMakeLists.txt). */
int __wrap_db_processors_oversubscribed(MPI_Comm comm, int *oversubscribed); /* NOLINT: the linker's names */
int __wrap_nanosleep(const struct timespec *asked, struct timespec *left);   /* NOLINT */
int __real_nanosleep(const struct timespec *asked, struct timespec *left);   /* NOLINT */

int __wrap_db_processors_oversubscribed(MPI_Comm comm, int *oversubscribed) { /* NOLINT */
    (void)comm;
    *oversubscribed = shared;
    return MPI_SUCCESS;
}

int __wrap_nanosleep(const struct timespec *asked, struct timespec *left) { /* NOLINT */
    double seconds = (double)asked->tv_sec + 1e-9 * (double)asked->tv_nsec;
    longest_sleep = seconds > longest_sleep ? seconds : longest_sleep;
    return __real_nanosleep(asked, left);
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
    MPIX_Harmonize_stats stats;
    int flag;
    OK(MPI_Comm_dup(of, &comm));
    OK(MPIX_Harmonize(comm, &flag));
    OK(MPIX_Harmonize_get_stats(comm, &stats));
    CHECK_THAT(stats.oversubscribed, ==, shared);
    long long messages = stats.sync_messages;
    blocking = 0;
    longest_sleep = 0.0;
    OK(MPIX_Harmonize_sync(comm));
    OK(MPIX_Harmonize_delayed(comm, DELAY, &flag));
    OK(MPIX_Harmonize_get_stats(comm, &stats));
    CHECK_THAT(stats.sync_messages, >, messages); /* what would have blocked */
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    setenv("DOWNBEAT_VALIDATION", "offset=1e-3,skew=1e-6", 1); /* a clock for each rank */
    MPI_Init(&argc, &argv);
    start(MPI_COMM_WORLD);
    CHECK_THAT(blocking, >, 2);
    CHECK_THAT(longest_sleep, <=, LONGEST_NAP_SECONDS);
    shared = 1;
    start(MPI_COMM_WORLD);
    CHECK_THAT(blocking, ==, 0);
    CHECK_THAT(longest_sleep, >, LONGEST_NAP_SECONDS);
    MPI_Finalize();
    return 0;
}
