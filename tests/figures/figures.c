/* Measures the library itself. `figures MODE` prints one JSON object with the figures of one run:
 *
 *   start     2 ranks: exit skew, false and rejected starts, cost per call; MPI_Barrier the same way, in turns
 *   recovery  2 ranks: slack after disturbances against slack before
 *   sync      2 ranks, under the validation clock: duration and true error of a clock synchronization
 *   crowd     more ranks than processors: cost per call, false starts
 *
 * tools/bench launches the modes and takes medians over repetitions of the whole. */
#define _POSIX_C_SOURCE 200809L
#include "stamp.h"

#include <mpi.h>
#include <mpix_harmonize.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_NS 50000
#define BLOCKS 20
#define DISTURBANCES 11
#define DISTURBANCE_NS 1000000

static MPI_Comm comm;
static int rank;
static int size;
static double scale; /* ns per stamp; the same on all ranks, whose stamps come from one counter */

/* A disturbance between the decision and the moment at which this rank is ready: the library's own broadcast, made
 * late. */
static bool disturb_next;

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm on) {
    int code = PMPI_Bcast(buffer, count, type, root, on);
    if (disturb_next) {
        disturb_next = false;
        for (int64_t end = monotonic_ns() + DISTURBANCE_NS; monotonic_ns() < end;) {
        }
    }
    return code;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    if (count == 0)
        return -1.0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static void *allocate(int count, size_t each) {
    void *memory = calloc((size_t)count, each);
    if (memory == NULL) {
        fprintf(stderr, "figures: out of memory\n");
        MPI_Abort(comm, 1);
    }
    memset(memory, 1, (size_t)count * each); /* first touch is no part of what is measured */
    return memory;
}

static void work(void) {
    for (int64_t end = stamp() + (int64_t)(WORK_NS / scale); stamp() < end;) {
    }
}

/* The starts of one synchronizer. */
struct starts {
    int count;
    int64_t *exits;
    int *flags;
    double *costs_ns; /* of each call, beyond the work, on this rank */
    double cost_ns;   /* mean */
};

static struct starts make_starts(int count) {
    return (struct starts){
        .count = count,
        .exits = allocate(count, sizeof(int64_t)),
        .flags = allocate(count, sizeof(int)),
        .costs_ns = allocate(count, sizeof(double)),
    };
}

static void free_starts(struct starts *starts) {
    free(starts->exits);
    free(starts->flags);
    free(starts->costs_ns);
}

static void with_nothing(int *flag) { *flag = 1; }

static void with_barrier(int *flag) {
    MPI_Barrier(comm);
    *flag = 1;
}

static void with_harmonize(int *flag) { MPIX_Harmonize(comm, flag); }

static void run_block(struct starts *starts, int begin, int end, void (*synchronize)(int *flag)) {
    MPI_Barrier(comm);
    int64_t begin_stamp = stamp();
    int64_t last = begin_stamp;
    for (int i = begin; i < end; ++i) {
        int flag;
        work();
        synchronize(&flag);
        starts->exits[i] = stamp();
        starts->flags[i] = flag;
        starts->costs_ns[i] = (double)(starts->exits[i] - last) * scale - WORK_NS;
        last = starts->exits[i];
    }
    starts->cost_ns += ((double)(last - begin_stamp) * scale - (double)(end - begin) * WORK_NS) / starts->count;
}

/* Ends the run where there is nothing to make a figure of: a figure of nothing would look met. */
static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "figures: %s\n", what);
    MPI_Abort(comm, 1);
}

/* What rank 0 concludes from the starts of all. */
struct conclusion {
    double skew_ns;       /* median over valid starts */
    double false_percent; /* valid, yet with a skew above the limit, of all starts */
    double rejected_percent;
};

static struct conclusion conclude(struct starts *starts, double limit_ns) {
    int64_t *all = allocate(starts->count * size, sizeof(int64_t));
    MPI_Gather(starts->exits, starts->count, MPI_INT64_T, all, starts->count, MPI_INT64_T, 0, comm);
    MPI_Allreduce(MPI_IN_PLACE, starts->flags, starts->count, MPI_INT, MPI_MIN, comm);
    double *skews = allocate(starts->count, sizeof(double));
    int valid = 0;
    int falsely = 0;
    for (int i = 0; i < starts->count && rank == 0; ++i) {
        if (!starts->flags[i])
            continue;
        int64_t first = all[i];
        int64_t last = all[i];
        for (int r = 1; r < size; ++r) {
            int64_t exit = all[r * starts->count + i];
            first = exit < first ? exit : first;
            last = exit > last ? exit : last;
        }
        skews[valid] = (double)(last - first) * scale;
        falsely += skews[valid] > limit_ns;
        ++valid;
    }
    struct conclusion conclusion = {
        .skew_ns = median(skews, valid),
        .false_percent = 100.0 * falsely / starts->count,
        .rejected_percent = 100.0 * (starts->count - valid) / starts->count,
    };
    free(skews);
    free(all);
    return conclusion;
}

static void mode_start(void) {
    enum { CALLS = 20000 };
    struct starts nothing = make_starts(CALLS);
    struct starts barrier = make_starts(CALLS);
    struct starts harmonize = make_starts(CALLS);
    int flag;
    MPIX_Harmonize(comm, &flag);
    for (int block = 0; block < BLOCKS; ++block) {
        const int begin = block * (CALLS / BLOCKS);
        const int end = begin + CALLS / BLOCKS;
        run_block(&nothing, begin, end, with_nothing);
        run_block(&barrier, begin, end, with_barrier);
        run_block(&harmonize, begin, end, with_harmonize);
    }
    /* Whoever synchronizes waits for the interruptions of all, and they hardly ever coincide. */
    MPI_Allreduce(MPI_IN_PLACE, &nothing.cost_ns, 1, MPI_DOUBLE, MPI_SUM, comm);
    struct conclusion b = conclude(&barrier, 1000.0);
    struct conclusion h = conclude(&harmonize, 1000.0);
    require(rank != 0 || h.rejected_percent < 100.0, "no valid start");
    if (rank == 0)
        printf("{\"exit_skew_ratio\": %.4f, \"exit_skew_ns\": %.2f, \"false_valid_percent\": %.4f, "
               "\"rejected_percent\": %.4f, \"call_cost_us\": %.4f, \"barrier_skew_ns\": %.2f, "
               "\"barrier_false_percent\": %.4f, \"barrier_cost_us\": %.4f, \"stamp_step_ns\": %.2f, "
               "\"call_cost_median_us\": %.4f, \"barrier_cost_median_us\": %.4f, \"interruptions_us\": %.4f}\n",
               h.skew_ns / b.skew_ns, h.skew_ns, h.false_percent, h.rejected_percent, harmonize.cost_ns / 1e3,
               b.skew_ns, b.false_percent, barrier.cost_ns / 1e3, (double)stamp_step() * scale,
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
        MPIX_Harmonize(comm, &flag);
        MPIX_Harmonize_get_stats(comm, &stats);
        slacks[i] = stats.slack;
    }
    double slack = median(slacks, calls);
    free(slacks);
    return slack;
}

/* Deadlines that any rank has missed so far because it was not ready. */
static long long missed_deadlines(void) {
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(comm, &stats);
    MPI_Allreduce(MPI_IN_PLACE, &stats.late_arrivals, 1, MPI_LONG_LONG, MPI_SUM, comm);
    return stats.late_arrivals;
}

static void mode_recovery(void) {
    usual_slack(1000);
    double before = usual_slack(100);
    const long long missed = missed_deadlines();
    for (int i = 0; i < DISTURBANCES; ++i) {
        disturb_next = rank == size - 1;
        usual_slack(10);
    }
    require(missed_deadlines() - missed >= DISTURBANCES / 2, "the disturbances did not reach the library");
    usual_slack(900);
    double after = usual_slack(100);
    if (rank == 0)
        printf("{\"slack_recovery\": %.4f, \"slack_before_ns\": %.1f, \"slack_after_ns\": %.1f}\n", after / before,
               before * 1e9, after * 1e9);
}

static void mode_sync(void) {
    enum { SYNCS = 1000 };
    double *durations = allocate(SYNCS, sizeof(double));
    double *errors = allocate(SYNCS, sizeof(double));
    int outside = 0;
    MPIX_Harmonize_sync(comm);
    for (int i = 0; i < SYNCS; ++i) {
        MPI_Barrier(comm);
        int64_t begin = stamp();
        MPIX_Harmonize_sync(comm);
        durations[i] = (double)(stamp() - begin) * scale;
        double error;
        double bound;
        MPIX_Harmonize_error_bound(comm, &bound);
        MPIX_Harmonize_true_error(comm, &error);
        errors[i] = error < 0 ? -error * 1e9 : error * 1e9;
        outside += errors[i] > bound * 1e9;
    }
    MPI_Allreduce(MPI_IN_PLACE, durations, SYNCS, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, errors, SYNCS, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, &outside, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("{\"sync_us\": %.3f, \"sync_error_ns\": %.2f, \"sync_outside_bound\": %d}\n",
               median(durations, SYNCS) / 1e3, median(errors, SYNCS), outside);
    free(durations);
    free(errors);
}

static void mode_crowd(void) {
    enum { CALLS = 2000 };
    struct starts harmonize = make_starts(CALLS);
    int flag;
    MPIX_Harmonize(comm, &flag);
    run_block(&harmonize, 0, CALLS, with_harmonize);
    struct conclusion h = conclude(&harmonize, 10000.0);
    if (rank == 0)
        printf("{\"oversub_cost_us\": %.3f, \"oversub_false_valid_percent\": %.4f, \"oversub_valid_percent\": %.4f}\n",
               harmonize.cost_ns / 1e3, h.false_percent, 100.0 - h.rejected_percent);
    free_starts(&harmonize);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"start", mode_start}, {"recovery", mode_recovery}, {"sync", mode_sync}, {"crowd", mode_crowd}};

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    scale = ns_per_stamp();
    MPI_Bcast(&scale, 1, MPI_DOUBLE, 0, comm);
    int status = 2;
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; ++i) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            status = 0;
        }
    }
    if (status != 0 && rank == 0)
        fprintf(stderr, "figures: usage: figures MODE; valid modes: start, recovery, sync, crowd\n");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return status;
}
