/* Cost of a collective with the preloaded library: MPI_Allreduce of 8 bytes on MPI_COMM_SELF, which waits for nobody;
 * or MPI_Iallreduce and MPI_Wait, if the second argument is "nonblocking". Prints the median over batches, ns per
 * collective. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 20 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int batches = (argc > 1 ? atoi(argv[1]) : 200000) / BATCH;
    int nonblocking = argc > 2 && strcmp(argv[2], "nonblocking") == 0;
    double *times = malloc((size_t)batches * sizeof *times);
    double in = 1.0, out;
    if (times == NULL)
        return 1;
    for (int i = 0; i < batches; ++i) {
        double begin = now_ns();
        for (int k = 0; k < BATCH; ++k)
            if (nonblocking) {
                MPI_Request request;
                MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
            }
        times[i] = (now_ns() - begin) / BATCH;
    }
    qsort(times, (size_t)batches, sizeof *times, compare);
    printf("call_ns %.1f\n", times[batches / 2]);
    free(times);
    MPI_Finalize();
    return 0;
}
