/* A solver's loop: some computation, an allreduce, now and then a broadcast. The last rank has more to compute in two
 * of three iterations. It knows nothing of Downbeat: docs/arrivals.md shows what `downbeat arrivals` says of it.
 *
 * mpicc -g -O2 examples/late_rank/late_rank.c -o late_rank && mpirun -n 4 ./late_rank */
#include <mpi.h>
#include <stdio.h>

static void compute(double seconds) {
    double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds) {
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double local = rank;
    double sum = 0.0;
    for (int i = 0; i < 2000; ++i) {
        int more = rank == size - 1 && i % 3 != 0;
        compute(more ? 250e-6 : 50e-6);
        MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (i % 10 == 0)
            MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %g\n", sum);
    MPI_Finalize();
    return 0;
}
