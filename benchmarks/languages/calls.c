/* Cost of the library's calls in C, and exit skew of a start; calls.py is the same in Python. Two ranks; rank
 * 0 prints one JSON object of medians:
 *
 *   time_ns   a reading of the global clock
 *   call_ns   a start, with the wait for its deadline
 *   first_ns  from the deadline to the first reading of the clock after a start
 *   skew_ns   from the first rank's such reading to the last one's, of starts with flag 1 on both */
#include <math.h>
#include <mpix_harmonize.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 20, CALLS = 5000 };

static double values[CALLS];
static double first[2][CALLS];
static int flags[2][CALLS];

static int compare(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

/* Median of the first `count` values, in ns. */
static double median(int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count > 0 ? values[count / 2] * 1e9 : nan("");
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPIX_Harmonize_sync(comm);

    double now;
    for (int i = 0; i < CALLS; ++i) {
        double begin = MPI_Wtime();
        for (int k = 0; k < BATCH; ++k)
            MPIX_Harmonize_time(comm, &now);
        values[i] = (MPI_Wtime() - begin) / BATCH;
    }
    double time_ns = median(CALLS);

    static double own[CALLS];
    static int own_flags[CALLS];
    for (int i = 0; i < CALLS; ++i) {
        double begin = MPI_Wtime();
        MPIX_Harmonize(comm, &own_flags[i]);
        values[i] = MPI_Wtime() - begin;
    }
    double call_ns = median(CALLS);
    for (int i = 0; i < CALLS; ++i) {
        double deadline;
        MPIX_Harmonize(comm, &own_flags[i]);
        MPIX_Harmonize_time(comm, &now);
        MPIX_Harmonize_deadline(comm, &deadline);
        own[i] = now - deadline;
    }
    MPI_Gather(own, CALLS, MPI_DOUBLE, first, CALLS, MPI_DOUBLE, 0, comm);
    MPI_Gather(own_flags, CALLS, MPI_INT, flags, CALLS, MPI_INT, 0, comm);
    if (rank == 0) {
        int valid = 0;
        for (int i = 0; i < CALLS; ++i)
            values[i] = own[i];
        double first_ns = median(CALLS);
        for (int i = 0; i < CALLS; ++i)
            if (flags[0][i] && flags[1][i])
                values[valid++] = fabs(first[0][i] - first[1][i]);
        printf("{\"time_ns\": %.1f, \"call_ns\": %.1f, \"first_ns\": %.1f, \"skew_ns\": %.1f}\n", time_ns, call_ns,
               first_ns, median(valid));
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
