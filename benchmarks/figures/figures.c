/* Measures the library itself. `figures MODE` prints one JSON object with the figures of one run:
 *
 *   start     2 ranks: exit skew, false and rejected starts, cost per call; MPI_Barrier the same way, in turns
 *   recovery  2 ranks: slack after disturbances against slack before
 *   misses    2 ranks: cost and false starts after missed deadlines, with slack=auto and slack=published, in turns
 *   sync      2 ranks, under the validation clock: duration and true error of a clock synchronization
 *   crowd     more ranks than processors: cost per call, false starts
 *   first     2 ranks: first starts on fresh communicators
 *   busy      2 ranks beside other programs: valid starts, with slack=auto and slack=published, in turns
 *
 * benchmarks/library.py launches the modes and takes medians over repetitions of the whole. */
#define _POSIX_C_SOURCE 200809L
#include "stamp.h"
#include "starts.h"

#include <mpi.h>
#include <mpix_harmonize.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 20
#define DISTURBANCES 11

static void mode_start(void) {
    enum { CALLS = 20000 };
    struct starts nothing = make_starts(CALLS);
    struct starts barrier = make_starts(CALLS);
    struct starts harmonize = make_starts(CALLS);
    int flag;
    MPIX_Harmonize(world.comm, &flag);
    for (int block = 0; block < BLOCKS; ++block) {
        const int begin = block * (CALLS / BLOCKS);
        const int end = begin + CALLS / BLOCKS;
        run_block(&nothing, begin, end, world.comm, with_nothing);
        run_block(&barrier, begin, end, world.comm, with_barrier);
        run_block(&harmonize, begin, end, world.comm, with_harmonize);
    }
    /* A rank that synchronizes waits for the interruptions of all ranks, which hardly ever coincide. */
    MPI_Allreduce(MPI_IN_PLACE, &nothing.cost_ns, 1, MPI_DOUBLE, MPI_SUM, world.comm);
    struct conclusion b = conclude(&barrier, 1000.0);
    struct conclusion h = conclude(&harmonize, 1000.0);
    require(world.rank != 0 || h.rejected_percent < 100.0, "no valid start");
    if (world.rank == 0)
        printf("{\"exit_skew_ratio\": %.4f, \"exit_skew_ns\": %.2f, \"false_valid_percent\": %.4f, "
               "\"rejected_percent\": %.4f, \"call_cost_us\": %.4f, \"barrier_skew_ns\": %.2f, "
               "\"barrier_false_percent\": %.4f, \"barrier_cost_us\": %.4f, \"stamp_step_ns\": %.2f, "
               "\"call_cost_median_us\": %.4f, \"barrier_cost_median_us\": %.4f, \"interruptions_us\": %.4f}\n",
               h.skew_ns / b.skew_ns, h.skew_ns, h.false_percent, h.rejected_percent, harmonize.cost_ns / 1e3,
               b.skew_ns, b.false_percent, barrier.cost_ns / 1e3, (double)stamp_step() * world.scale,
               median(harmonize.costs_ns, CALLS) / 1e3, median(barrier.costs_ns, CALLS) / 1e3, nothing.cost_ns / 1e3);
    free_starts(&nothing);
    free_starts(&barrier);
    free_starts(&harmonize);
}

/* Median slack over some calls. */
static double usual_slack(int calls) {
    double *slacks = allocate(calls, sizeof(double));
    for (int i = 0; i < calls; ++i) {
        int flag;
        MPIX_Harmonize_stats stats;
        work();
        MPIX_Harmonize(world.comm, &flag);
        MPIX_Harmonize_get_stats(world.comm, &stats);
        slacks[i] = stats.slack;
    }
    double slack = median(slacks, calls);
    free(slacks);
    return slack;
}

static void mode_recovery(void) {
    usual_slack(1000);
    double before = usual_slack(100);
    const long long missed = missed_deadlines(world.comm);
    for (int i = 0; i < DISTURBANCES; ++i) {
        if (world.rank == world.size - 1)
            disturb();
        usual_slack(10);
    }
    require(missed_deadlines(world.comm) - missed >= DISTURBANCES / 2, "the disturbances did not reach the library");
    usual_slack(900);
    double after = usual_slack(100);
    if (world.rank == 0)
        printf("{\"slack_recovery\": %.4f, \"slack_before_ns\": %.1f, \"slack_after_ns\": %.1f}\n", after / before,
               before * 1e9, after * 1e9);
}

static void mode_sync(void) {
    enum { SYNCS = 1000 };
    double *durations = allocate(SYNCS, sizeof(double));
    double *errors = allocate(SYNCS, sizeof(double));
    int outside = 0;
    MPIX_Harmonize_sync(world.comm);
    for (int i = 0; i < SYNCS; ++i) {
        MPI_Barrier(world.comm);
        int64_t begin = stamp();
        MPIX_Harmonize_sync(world.comm);
        durations[i] = (double)(stamp() - begin) * world.scale;
        double error;
        double bound;
        MPIX_Harmonize_error_bound(world.comm, &bound);
        MPIX_Harmonize_true_error(world.comm, &error);
        errors[i] = error < 0 ? -error * 1e9 : error * 1e9;
        outside += errors[i] > bound * 1e9;
    }
    MPI_Allreduce(MPI_IN_PLACE, durations, SYNCS, MPI_DOUBLE, MPI_MAX, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, errors, SYNCS, MPI_DOUBLE, MPI_MAX, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, &outside, 1, MPI_INT, MPI_SUM, world.comm);
    if (world.rank == 0)
        printf("{\"sync_us\": %.3f, \"sync_error_ns\": %.2f, \"sync_outside_bound\": %d}\n",
               median(durations, SYNCS) / 1e3, median(errors, SYNCS), outside);
    free(durations);
    free(errors);
}

static void mode_crowd(void) {
    enum { CALLS = 2000 };
    struct starts harmonize = make_starts(CALLS);
    int flag;
    MPIX_Harmonize(world.comm, &flag);
    run_block(&harmonize, 0, CALLS, world.comm, with_harmonize);
    struct conclusion h = conclude(&harmonize, 10000.0);
    if (world.rank == 0)
        printf("{\"oversub_cost_us\": %.3f, \"oversub_false_valid_percent\": %.4f, \"oversub_valid_percent\": %.4f}\n",
               harmonize.cost_ns / 1e3, h.false_percent, 100.0 - h.rejected_percent);
    free_starts(&harmonize);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"start", mode_start}, {"recovery", mode_recovery}, {"misses", mode_misses}, {"sync", mode_sync},
                 {"crowd", mode_crowd}, {"first", mode_first},       {"busy", mode_busy}};

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.size);
    world.scale = ns_per_stamp();
    MPI_Bcast(&world.scale, 1, MPI_DOUBLE, 0, world.comm);
    int status = 2;
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; ++i) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            status = 0;
        }
    }
    if (status != 0 && world.rank == 0)
        fprintf(stderr,
                "figures: usage: figures MODE; valid modes: start, recovery, misses, sync, crowd, first, busy\n");
    MPI_Comm_free(&world.comm);
    MPI_Finalize();
    return status;
}
