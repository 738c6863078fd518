/* Four threads, each with a communicator of its own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define CALLS 5000

static void *work(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    for (int i = 0; i < CALLS; ++i) {
        int value = i;
        MPI_Request request;
        MPI_Bcast(&value, 1, MPI_INT, 0, comm);
        MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
