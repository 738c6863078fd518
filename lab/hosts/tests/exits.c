/* When processes leave MPIX_Harmonize, by a counter that all of them share: the truth about hosts made of namespaces,
 * whose clocks differ. */
#include <mpix_harmonize.h>

#include "stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define USAGE                                                                                                          \
    "usage: exits [SECONDS [PERIOD]]\n"                                                                                \
    "Calls MPIX_Harmonize every PERIOD seconds (0.002) for SECONDS (15) and writes one JSON object: what the library " \
    "expects, its synchronizations, and for each rank its calls after the first second: the exit, the flag, and a "    \
    "reading of the global clock (s) with its stamp.\n"

struct call {
    int64_t exit;
    int flag;
    /* The global clock, in s, at a stamp: clock spreads do not depend on scheduling. */
    double time;
    int64_t stamp;
};

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

/* Writes the calls after the first `skipped`; `all` is by rank and call. Stamps count from the first of them. */
static void report(const struct call *all, int size, int calls, int skipped, const double *errors) {
    const int64_t first = all[skipped].exit;
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(MPI_COMM_WORLD, &stats);
    printf("{\"ns_per_stamp\": %.9g, \"syncs\": %lld, \"sync_share\": %.6f, \"clock_domains\": %d, "
           "\"error_bound_ns\": %.1f, \"expected_error_ns\": %.1f, \"ranks\": [",
           ns_per_stamp(), stats.syncs, stats.sync_share, stats.clock_domains, errors[0] * 1e9, errors[1] * 1e9);
    for (int rank = 0; rank < size; ++rank)
        for (int i = skipped; i < calls; ++i) {
            const struct call *call = &all[(size_t)rank * (size_t)calls + (size_t)i];
            printf("%s[%" PRId64 ", %d, %.12f, %" PRId64 "]%s", i == skipped ? "[" : ", ", call->exit - first,
                   call->flag, call->time, call->stamp - first,
                   i + 1 < calls     ? ""
                   : rank + 1 < size ? "], "
                                     : "]]}\n");
        }
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
    double errors[2]; /* of any process: error bound and expected error */
    MPIX_Harmonize_error_bound(MPI_COMM_WORLD, &errors[0]);
    MPIX_Harmonize_expected_error(MPI_COMM_WORLD, &errors[1]);
    MPI_Allreduce(MPI_IN_PLACE, errors, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        report(all, size, calls, (int)(1.0 / period), errors);
    free(all);
    free(mine);
    MPI_Finalize();
    return 0;
}
