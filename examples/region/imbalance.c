/*
 * An application that computes and then reduces, again and again; higher ranks have more to compute. Two regions show
 * how long either part takes from a common start, and how far apart the processes leave it:
 *
 *     cc imbalance.c $(pkg-config --cflags --libs downbeat) -o imbalance
 *     DOWNBEAT_REGIONS_TABLE=stdout mpirun -n 4 ./imbalance 100 500 200     # and look into downbeat-regions.json
 *
 * Arguments: iterations; microseconds of computation on rank 0; microseconds more for each rank than for the one
 * before.
 */
#include <downbeat/region.h>

#include <stdio.h>
#include <stdlib.h>

/* Stands for work: takes a known time. */
static double compute(double seconds) {
    double begin = MPI_Wtime();
    double sum = 0.0;
    while (MPI_Wtime() - begin < seconds)
        sum += 1e-3;
    return sum;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) {
        if (rank == 0)
            fprintf(stderr, "usage: imbalance ITERATIONS MICROSECONDS STEP\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double seconds = (atof(argv[2]) + atof(argv[3]) * rank) * 1e-6;

    double all = 0.0;
    for (int i = 0; i < atoi(argv[1]); ++i) {
        Downbeat_region region;
        Downbeat_region_begin(MPI_COMM_WORLD, "compute", &region);
        double mine = compute(seconds);
        Downbeat_region_end(&region);

        Downbeat_region_begin(MPI_COMM_WORLD, "allreduce", &region);
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        Downbeat_region_end(&region);
    }
    if (rank == 0)
        printf("computed %g\n", all);
    MPI_Finalize(); /* writes what came of the regions */
    return 0;
}
