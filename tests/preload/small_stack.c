/* Calls allreduces in a thread whose stack has the size of the first argument; with a second one, barriers before them.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int barriers;

static void *call(void *result) {
    int one = 1;
    for (int i = 0; i < 100 * barriers; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 100; ++i)
        MPI_Allreduce(&one, result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    int sum = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    barriers = argc > 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)atoi(argv[1]));
    int code = pthread_create(&thread, &attributes, call, &sum);
    if (code == 0)
        pthread_join(thread, NULL);
    printf("thread %d sum %d\n", code, sum);
    MPI_Finalize();
    return 0;
}
