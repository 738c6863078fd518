/* The benchmark of Schuchart 2023: MPI_Reduce after MPIX_Harmonize (Listing 1), and after MPI_Barrier (section 2). What
 * is printed is t_avg of section 2, the mean over processes of each one's mean over iterations.
 *
 *     mpicc -O2 reduce_loop.c -ldownbeat -o reduce_loop
 *     mpirun -n 2 ./reduce_loop
 *
 * Differs from the listing: it counts the last iteration before each check, which `check_idx` as a count leaves out; it
 * goes on until enough iterations are valid; it warms up. */
#include <mpi.h>
#include <mpix_harmonize.h>

#include <stdio.h>

enum { WARMUP = 200, NITER = 1000, CHECK_EVERY = 16, MOST_ITER = 100 * NITER };

/* One iteration: its time, and whether this process started in time. */
static double reduce_once(MPI_Comm comm, int harmonized, int *flag) {
    float sent = 1.0f, sum;
    *flag = 1;
    if (harmonized)
        MPIX_Harmonize(comm, flag); /* synchronize in space and time */
    else
        MPI_Barrier(comm); /* in space alone: nothing says that processes start together */
    double begin = MPI_Wtime();
    MPI_Reduce(&sent, &sum, 1, MPI_FLOAT, MPI_SUM, 0, comm);
    return MPI_Wtime() - begin;
}

static void measure(MPI_Comm comm, int harmonized) {
    int check_flags[CHECK_EVERY], valid_iterations = 0, iterations = 0, flag, rank, size;
    double check_time[CHECK_EVERY], wtime = 0.0, average, sum;
    for (int i = 0; i < WARMUP; ++i)
        reduce_once(comm, harmonized, &flag);
    while (valid_iterations < NITER && iterations < MOST_ITER) {
        for (int k = 0; k < CHECK_EVERY; ++k)
            check_time[k] = reduce_once(comm, harmonized, &check_flags[k]);
        iterations += CHECK_EVERY;
        /* Discard the timings of iterations in which any process was late. */
        MPI_Allreduce(MPI_IN_PLACE, check_flags, CHECK_EVERY, MPI_INT, MPI_LAND, comm);
        for (int k = 0; k < CHECK_EVERY; ++k) {
            if (check_flags[k]) {
                wtime += check_time[k];
                valid_iterations++;
            }
        }
    }
    average = valid_iterations > 0 ? wtime / valid_iterations : 0.0;
    MPI_Reduce(&average, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0 && valid_iterations >= NITER)
        printf("%-10s t_avg %.3f us, %d of %d iterations valid\n", harmonized ? "harmonize" : "barrier",
               sum / size * 1e6, valid_iterations, iterations);
    else if (rank == 0)
        fprintf(stderr, "reduce_loop: only %d of %d iterations valid; run at most one process per processor\n",
                valid_iterations, iterations);
    if (valid_iterations < NITER)
        MPI_Abort(comm, 3);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    measure(MPI_COMM_WORLD, 0);
    measure(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
