/* MPI_THREAD_MULTIPLE: a thread per communicator, all calling at once. */
#include "check_mpi.h"

#include <pthread.h>

#define THREADS 3
#define CALLS 20

static void *run(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    double last = -1.0;
    for (int i = 0; i < CALLS; ++i) {
        int flag;
        double deadline;
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPIX_Harmonize_deadline(comm, &deadline));
        CHECK_THAT(deadline, >, last);
        last = deadline;
    }
    MPIX_Harmonize_stats stats;
    OK(MPIX_Harmonize_get_stats(comm, &stats));
    CHECK_THAT(stats.calls, ==, CALLS);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK_THAT(provided, ==, MPI_THREAD_MULTIPLE);
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, run, &comms[i]) == 0);
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; ++i)
        OK(MPI_Comm_free(&comms[i]));
    MPI_Finalize();
    return 0;
}
