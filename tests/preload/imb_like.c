/* A loop as that of the Intel MPI Benchmarks (IMB-MPI1, -sync on): two barriers, then for each call a stamp, an
 * allreduction, a stamp and a barrier; the least, the largest and the mean time of the processes. Each call has the
 * next of several buffers if the third argument says how many (-off_cache). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double measure(const char *in, char *out, int count, int iterations, int buffers) {
    size_t size = (size_t)count * sizeof(float);
    double sum = 0.0;
    for (int i = 0; i < 2; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < iterations; ++i) {
        size_t offset = (size_t)(i % buffers) * size;
        double begin = MPI_Wtime();
        MPI_Allreduce(in + offset, out + offset, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        double end = MPI_Wtime();
        sum += end - begin;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return sum / iterations * 1e6;
}

int main(int argc, char **argv) {
    enum { LARGEST = 8192 };
    int rank, size;
    MPI_Init(&argc, &argv);
    int iterations = argc > 1 ? atoi(argv[1]) : 1000;
    int skip = argc > 2 ? atoi(argv[2]) : 0;
    int buffers = argc > 3 ? atoi(argv[3]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *in = calloc((size_t)buffers, LARGEST);
    char *out = calloc((size_t)buffers, LARGEST);
    double *times = calloc((size_t)size, sizeof *times);
    if (in == NULL || out == NULL || times == NULL)
        return 1;
    for (int bytes = 8; bytes <= LARGEST; bytes *= 32) {
        int count = bytes / (int)sizeof(float);
        if (skip > 0)
            measure(in, out, count, skip, buffers);
        double mine = measure(in, out, count, iterations, buffers);
        MPI_Gather(&mine, 1, MPI_DOUBLE, times, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int i = 0; rank == 0 && i < size; ++i)
            printf("mean %d %d %.9g\n", i, bytes, times[i]);
    }
    free(in);
    free(out);
    free(times);
    MPI_Finalize();
    return 0;
}
