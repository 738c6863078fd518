/* How far apart processes leave MPIX_Harmonize, by a counter that all of them share: the truth about hosts made of
 * namespaces, whose clocks differ. */
#include <mpix_harmonize.h>

#include "stamp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define USAGE                                                                                                          \
    "usage: exits [SECONDS [PERIOD]]\n"                                                                                \
    "Calls MPIX_Harmonize every PERIOD seconds (0.002) for SECONDS (15) and writes one JSON object: the exit skew "    \
    "of\n"                                                                                                             \
    "the calls after the first second whose flags were all 1, how far apart the processes' global clocks were after "  \
    "each\n"                                                                                                           \
    "call, what the library expected, and its synchronizations.\n"

struct call {
    int64_t exit;
    int flag;
    /* The global clock, in s, at a stamp: clock spreads do not depend on scheduling. */
    double time;
    int64_t stamp;
};

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double quantile(const double *sorted, int count, double level) {
    return count == 0 ? (double)NAN : sorted[(int)(level * (count - 1))];
}

/* JSON has no NaN: null where no call counts. */
static void print_quantile(const char *name, const double *sorted, int count, double level) {
    if (count == 0)
        printf("\"%s\": null, ", name);
    else
        printf("\"%s\": %.1f, ", name, quantile(sorted, count, level));
}

/* Exit skews in ns of the calls that count, ascending; returns how many there are. `all` is by rank and call. */
static int exit_skews(const struct call *all, int size, int calls, int skipped, double scale_ns, double *skews) {
    int count = 0;
    for (int i = skipped; i < calls; ++i) {
        int64_t first = INT64_MAX;
        int64_t last = INT64_MIN;
        int valid = 1;
        for (int rank = 0; rank < size; ++rank) {
            const struct call *call = &all[(size_t)rank * (size_t)calls + (size_t)i];
            first = call->exit < first ? call->exit : first;
            last = call->exit > last ? call->exit : last;
            valid &= call->flag;
        }
        if (valid)
            skews[count++] = (double)(last - first) * scale_ns;
    }
    qsort(skews, (size_t)count, sizeof *skews, ascending);
    return count;
}

/* How far apart the global clocks are, in ns, call by call, ascending. */
static int clock_spreads(const struct call *all, int size, int calls, int skipped, double scale_ns, double *spreads) {
    int count = 0;
    for (int i = skipped; i < calls; ++i) {
        double first = (double)INFINITY;
        double last = -(double)INFINITY;
        for (int rank = 0; rank < size; ++rank) {
            const struct call *call = &all[(size_t)rank * (size_t)calls + (size_t)i];
            /* Relative to rank 0's stamp, a few ms away, so that the scale need not be exact. */
            double ahead_ns = call->time * 1e9 - (double)(call->stamp - all[i].stamp) * scale_ns;
            first = ahead_ns < first ? ahead_ns : first;
            last = ahead_ns > last ? ahead_ns : last;
        }
        spreads[count++] = last - first;
    }
    qsort(spreads, (size_t)count, sizeof *spreads, ascending);
    return count;
}

/* Reads the global clock and the counter at one instant: the best of some pairs, since a process is interrupted. */
static void read_together(struct call *call) {
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 5; ++i) {
        double time;
        int64_t before = stamp();
        MPIX_Harmonize_time(MPI_COMM_WORLD, &time);
        int64_t after = stamp();
        if (after - before < shortest) {
            shortest = after - before;
            call->time = time;
            call->stamp = before + (after - before) / 2;
        }
    }
}

static void make_calls(struct call *calls, int count, double period_ns) {
    int64_t begin_ns = monotonic_ns();
    for (int i = 0; i < count; ++i) {
        while ((double)(monotonic_ns() - begin_ns) < i * period_ns) {
        }
        MPIX_Harmonize(MPI_COMM_WORLD, &calls[i].flag);
        calls[i].exit = stamp();
        read_together(&calls[i]);
    }
}

static void report(const struct call *all, int size, int calls, int skipped) {
    double *skews = calloc((size_t)calls, sizeof *skews);
    if (skews == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const double scale_ns = ns_per_stamp();
    int count = clock_spreads(all, size, calls, skipped, scale_ns, skews);
    printf("{\"clock_median_ns\": %.1f, \"clock_p99_ns\": %.1f, ", quantile(skews, count, 0.5),
           quantile(skews, count, 0.99));
    count = exit_skews(all, size, calls, skipped, scale_ns, skews);
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(MPI_COMM_WORLD, &stats);
    print_quantile("skew_median_ns", skews, count, 0.5);
    print_quantile("skew_p99_ns", skews, count, 0.99);
    print_quantile("skew_max_ns", skews, count, 1.0);
    int apart = 0; /* ascending */
    while (apart < count && skews[count - 1 - apart] > 1000.0)
        ++apart;
    printf("\"apart_share\": %.5f, ", count > 0 ? (double)apart / count : 0.0);
    printf(
        "\"ranks\": %d, \"calls\": %d, \"valid\": %d, \"syncs\": %lld, \"sync_share\": %.6f, \"clock_domains\": %d, ",
        size, calls - skipped, count, stats.syncs, stats.sync_share, stats.clock_domains);
    free(skews);
}

int main(int argc, char **argv) {
    int rank;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 15.0;
    const double period = argc > 2 ? strtod(argv[2], NULL) : 0.002;
    if (argc > 3 || !(seconds > 1.0 && seconds <= 3600.0) || !(period >= 1e-5 && period < seconds)) {
        if (rank == 0)
            fputs(USAGE, stderr);
        MPI_Finalize();
        return 2;
    }
    const int calls = (int)(seconds / period);
    struct call *mine = calloc((size_t)calls, sizeof *mine);
    struct call *all = rank == 0 ? calloc((size_t)size * (size_t)calls, sizeof *all) : NULL;
    if (mine == NULL || (rank == 0 && all == NULL))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    make_calls(mine, calls, period * 1e9);
    MPI_Gather(mine, calls * (int)sizeof *mine, MPI_BYTE, all, calls * (int)sizeof *mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    double last[2]; /* of any process: error bound and expected error */
    MPIX_Harmonize_error_bound(MPI_COMM_WORLD, &last[0]);
    MPIX_Harmonize_expected_error(MPI_COMM_WORLD, &last[1]);
    MPI_Allreduce(MPI_IN_PLACE, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        report(all, size, calls, (int)(1.0 / period));
        printf("\"error_bound_ns\": %.1f, \"expected_error_ns\": %.1f}\n", last[0] * 1e9, last[1] * 1e9);
    }
    free(all);
    free(mine);
    MPI_Finalize();
    return 0;
}
