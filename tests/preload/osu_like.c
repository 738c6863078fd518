/* A loop as that of the OSU Micro-Benchmarks: the mean time of a reduction after a barrier, per process. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    int iterations = argc > 1 ? atoi(argv[1]) : 1000;
    int skip = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* On pages, as OSU's: Open MPI copies 8 KiB in 2.6 us then, otherwise in 2.9. */
    double *in = aligned_alloc(4096, 1024 * sizeof *in);
    double *out = aligned_alloc(4096, 1024 * sizeof *out);
    if (in == NULL || out == NULL)
        return 1;
    memset(in, 1, 1024 * sizeof *in);
    memset(out, 0, 1024 * sizeof *out);
    for (int count = 1; count <= 1024; count *= 32) {
        double sum = 0.0;
        for (int i = 0; i < iterations + skip; ++i) {
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
            double end = MPI_Wtime();
            if (i >= skip)
                sum += end - begin;
        }
        printf("mean %d %d %.9g\n", rank, count * (int)sizeof(double), sum / iterations * 1e6);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
