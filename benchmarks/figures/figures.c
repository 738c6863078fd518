/* Measures the library itself. `figures MODE` prints one JSON object with the figures of one run:
 *
 *   start     2 ranks: exit skew, false and rejected starts, cost per call; MPI_Barrier the same way, in turns
 *   crowd     the same starts with more ranks than processors
 *   recovery  2 ranks: slack after disturbances against slack before
 *   misses    2 ranks: cost and false starts after missed deadlines, with slack=auto and slack=published, in turns
 *   first     2 ranks: first starts on fresh communicators
 *   busy      2 ranks beside other programs: valid starts, with slack=auto and slack=published, in turns
 *   calls     2 ranks: calls and skew as a program sees them; calls.py is the same in Python
 *
 * benchmarks/library.py launches the modes and takes medians over repetitions of the whole. */
#define _POSIX_C_SOURCE 200809L
#include "stamp.h"

#include <mpi.h>
#include <mpix_harmonize.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 20
#define DISTURBANCES 11 /* as many misses */
#define WORK_NS 50000
#define DISTURBANCE_NS 1000000

/* The ranks that measure. */
static struct {
    MPI_Comm comm;
    int rank;
    int size;
    double scale; /* ns per stamp; the same on all ranks, whose stamps come from one counter */
} world;

static bool disturb_next;

/* Makes the library's next broadcast on this rank 1 ms late: between the decision and the moment at which this rank is
 * ready. */
static void disturb(void) { disturb_next = true; }

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

/* -1 where there are none. Sorts them. */
static double median(double *values, int count) {
    if (count == 0)
        return -1.0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* Memory that has been touched. */
static void *allocate(int count, size_t each) {
    void *memory = calloc((size_t)count, each);
    if (memory == NULL) {
        fprintf(stderr, "figures: out of memory\n");
        MPI_Abort(world.comm, 1);
    }
    memset(memory, 1, (size_t)count * each); /* first touch is not measured */
    return memory;
}

static void work(void) {
    for (int64_t end = stamp() + (int64_t)(WORK_NS / world.scale); stamp() < end;) {
    }
}

/* The starts of one synchronizer. */
struct starts {
    int count;
    int64_t *entries;
    int64_t *exits;
    int *flags;
    double *costs_ns; /* of each call, beyond the work, on this rank */
    double cost_ns;   /* mean */
};

static struct starts make_starts(int count) {
    return (struct starts){
        .count = count,
        .entries = allocate(count, sizeof(int64_t)),
        .exits = allocate(count, sizeof(int64_t)),
        .flags = allocate(count, sizeof(int)),
        .costs_ns = allocate(count, sizeof(double)),
    };
}

static void free_starts(struct starts *starts) {
    free(starts->entries);
    free(starts->exits);
    free(starts->flags);
    free(starts->costs_ns);
}

static void with_nothing(MPI_Comm comm, int *flag) {
    (void)comm;
    *flag = 1;
}

static void with_barrier(MPI_Comm comm, int *flag) {
    MPI_Barrier(comm);
    *flag = 1;
}

static void with_harmonize(MPI_Comm comm, int *flag) { MPIX_Harmonize(comm, flag); }

/* Works and synchronizes, from one start to before another; collective. */
static void run_block(struct starts *starts, int begin, int end, MPI_Comm comm,
                      void (*synchronize)(MPI_Comm comm, int *flag)) {
    MPI_Barrier(comm);
    int64_t begin_stamp = stamp();
    int64_t last = begin_stamp;
    for (int i = begin; i < end; ++i) {
        int flag;
        work();
        starts->entries[i] = stamp();
        synchronize(comm, &flag);
        starts->exits[i] = stamp();
        starts->flags[i] = flag;
        starts->costs_ns[i] = (double)(starts->exits[i] - last) * world.scale - WORK_NS;
        last = starts->exits[i];
    }
    starts->cost_ns += ((double)(last - begin_stamp) * world.scale - (double)(end - begin) * WORK_NS) / starts->count;
}

/* Ends the run where there is nothing to make a figure of: a figure of nothing would look met. */
static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "figures: %s\n", what);
    MPI_Abort(world.comm, 1);
}

/* The conclusion of rank 0 from the starts of all. */
struct conclusion {
    double skew_ns;       /* median over valid starts */
    double false_percent; /* valid, yet with a skew above the limit, of all starts */
    double rejected_percent;
    double span_ns; /* from the last entry to the last exit, median over all */
};

static struct conclusion conclude(struct starts *starts, double limit_ns) {
    int64_t *all = allocate(starts->count * world.size, sizeof(int64_t));
    int64_t *entered = allocate(starts->count, sizeof(int64_t));
    double *spans = allocate(starts->count, sizeof(double));
    MPI_Gather(starts->exits, starts->count, MPI_INT64_T, all, starts->count, MPI_INT64_T, 0, world.comm);
    MPI_Reduce(starts->entries, entered, starts->count, MPI_INT64_T, MPI_MAX, 0, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, starts->flags, starts->count, MPI_INT, MPI_MIN, world.comm);
    double *skews = allocate(starts->count, sizeof(double));
    int valid = 0;
    int falsely = 0;
    for (int i = 0; i < starts->count && world.rank == 0; ++i) {
        int64_t first = all[i];
        int64_t last = all[i];
        for (int r = 1; r < world.size; ++r) {
            int64_t exit = all[r * starts->count + i];
            first = exit < first ? exit : first;
            last = exit > last ? exit : last;
        }
        spans[i] = (double)(last - entered[i]) * world.scale;
        if (!starts->flags[i])
            continue;
        skews[valid] = (double)(last - first) * world.scale;
        falsely += skews[valid] > limit_ns;
        ++valid;
    }
    struct conclusion conclusion = {
        .skew_ns = median(skews, valid),
        .false_percent = 100.0 * falsely / starts->count,
        .rejected_percent = 100.0 * (starts->count - valid) / starts->count,
        .span_ns = median(spans, starts->count),
    };
    free(spans);
    free(entered);
    free(skews);
    free(all);
    return conclusion;
}

static void set(MPI_Comm comm, const char *key, const char *value) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPIX_Harmonize_set_info(comm, info);
    MPI_Info_free(&info);
}

static MPI_Comm with_slack(const char *slack) {
    MPI_Comm comm;
    MPI_Comm_dup(world.comm, &comm);
    set(comm, "slack", slack);
    return comm;
}

/* Deadlines that any rank has missed so far because it was not ready. Collective. */
static long long missed_deadlines(MPI_Comm comm) {
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(comm, &stats);
    MPI_Allreduce(MPI_IN_PLACE, &stats.late_arrivals, 1, MPI_LONG_LONG, MPI_SUM, comm);
    return stats.late_arrivals;
}

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
               "\"call_cost_median_us\": %.4f, \"barrier_cost_median_us\": %.4f, \"interruptions_us\": %.4f, "
               "\"span_ns\": %.1f, \"barrier_span_ns\": %.1f, \"span_ratio\": %.3f}\n",
               h.skew_ns / b.skew_ns, h.skew_ns, h.false_percent, h.rejected_percent, harmonize.cost_ns / 1e3,
               b.skew_ns, b.false_percent, barrier.cost_ns / 1e3, (double)stamp_step() * world.scale,
               median(harmonize.costs_ns, CALLS) / 1e3, median(barrier.costs_ns, CALLS) / 1e3, nothing.cost_ns / 1e3,
               h.span_ns, b.span_ns, h.span_ns / b.span_ns);
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
    set(world.comm, "transport", "messages"); /* which disturb() delays */
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

#define WARM_UP 50
#define METHOD_CALLS 2000
#define LONGEST_SECONDS 20.0 /* of the measurement: on a busy machine a slack that only grows gets long */
#define LIMIT_NS 1000.0      /* of the exit skew of a start that is valid by its flags */

struct method {
    const char *slack; /* the setting */
    const char *figures;
    MPI_Comm comm;
    struct starts starts;
};

static void make_calls(const struct method *method, int count) {
    for (int i = 0; i < count; ++i) {
        int flag;
        work();
        MPIX_Harmonize(method->comm, &flag);
    }
}

static void make_misses(const struct method *method) {
    make_calls(method, WARM_UP);
    for (int i = 0; i < DISTURBANCES; ++i) {
        if (world.rank == world.size - 1)
            disturb();
        make_calls(method, 10);
    }
    /* On a busy machine more, of its own making, until a published slack is longer than a disturbance. */
    require(missed_deadlines(method->comm) >= DISTURBANCES / 2, "the disturbances did not reach the library");
}

/* Seconds. */
static double current_slack(const struct method *method) {
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(method->comm, &stats);
    return stats.slack;
}

static void mode_misses(void) {
    struct method methods[] = {{.slack = "auto", .figures = "after_misses"},
                               {.slack = "published", .figures = "published"}};
    enum { METHODS = sizeof methods / sizeof *methods };
    for (int m = 0; m < METHODS; ++m) {
        methods[m].comm = with_slack(methods[m].slack);
        set(methods[m].comm, "transport", "messages"); /* which disturb() delays */
        methods[m].starts = make_starts(METHOD_CALLS);
        make_misses(&methods[m]);
    }
    int done = 0;
    int enough = 0;
    const double begin = MPI_Wtime();
    while (!enough) {
        for (int m = 0; m < METHODS; ++m)
            run_block(&methods[m].starts, done, done + METHOD_CALLS / BLOCKS, methods[m].comm, with_harmonize);
        done += METHOD_CALLS / BLOCKS;
        enough = done == METHOD_CALLS || MPI_Wtime() - begin > LONGEST_SECONDS;
        MPI_Bcast(&enough, 1, MPI_INT, 0, world.comm);
    }
    for (int m = 0; m < METHODS; ++m) {
        methods[m].starts.count = done;
        methods[m].starts.cost_ns *= (double)METHOD_CALLS / done;
        struct conclusion found = conclude(&methods[m].starts, LIMIT_NS);
        if (world.rank == 0)
            printf("%s\"%s_cost_us\": %.3f, \"%s_false_percent\": %.4f, \"%s_rejected_percent\": %.4f, "
                   "\"%s_slack_us\": %.3f",
                   m == 0 ? "{" : ", ", methods[m].figures, methods[m].starts.cost_ns / 1e3, methods[m].figures,
                   found.false_percent, methods[m].figures, found.rejected_percent, methods[m].figures,
                   current_slack(&methods[m]) * 1e6);
    }
    if (world.rank == 0)
        printf(", \"after_misses_cost_ratio\": %.5f}\n", methods[0].starts.cost_ns / methods[1].starts.cost_ns);
    for (int m = 0; m < METHODS; ++m) {
        free_starts(&methods[m].starts);
        MPI_Comm_free(&methods[m].comm);
    }
}

#define COMMS 300

/* Resident memory of this process, KiB. */
static double resident_kib(void) {
    long size = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    require(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2, "/proc/self/statm cannot be read");
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024.0;
}

/* KiB per duplicate, and what a first start on each adds to that. */
static double fill(MPI_Comm comms[COMMS], double durations_ns[COMMS], int flags[COMMS]) {
    double before = resident_kib();
    for (int i = 0; i < COMMS; ++i) {
        MPI_Comm_dup(world.comm, &comms[i]);
        if (flags == NULL)
            continue;
        MPI_Barrier(comms[i]);
        int64_t begin = stamp();
        MPIX_Harmonize(comms[i], &flags[i]);
        durations_ns[i] = (double)(stamp() - begin) * world.scale;
    }
    return (resident_kib() - before) / COMMS;
}

static void empty(MPI_Comm comms[COMMS]) {
    for (int i = 0; i < COMMS; ++i)
        MPI_Comm_free(&comms[i]);
}

static void mode_first(void) {
    static MPI_Comm comms[COMMS];
    static MPI_Comm others[COMMS];
    static double durations_ns[COMMS];
    static int flags[COMMS];
    int flag;
    MPIX_Harmonize(world.comm, &flag); /* process-wide state, made once */
    double duplicate_kib = fill(others, NULL, NULL);
    double prepared_kib = fill(comms, durations_ns, flags);
    empty(others);
    empty(comms);
    MPI_Allreduce(MPI_IN_PLACE, flags, COMMS, MPI_INT, MPI_MIN, world.comm);
    int valid = 0;
    for (int i = 0; i < COMMS; ++i)
        valid += flags[i];
    if (world.rank == 0)
        printf("{\"first_rejected_percent\": %.2f, \"first_us\": %.2f, \"duplicate_kib\": %.2f, \"state_kib\": %.2f}\n",
               100.0 * (COMMS - valid) / COMMS, median(durations_ns, COMMS) / 1e3, duplicate_kib,
               prepared_kib - 2.0 * duplicate_kib);
}

#define TURNS 2
#define TURN_SECONDS 2.0

static double valid_per_second(const char *slack) {
    MPI_Comm comm = with_slack(slack);
    int flag;
    int verdict;
    int valid = 0;
    int over = 0;
    MPIX_Harmonize(comm, &flag);
    const double begin = MPI_Wtime();
    while (!over) {
        MPIX_Harmonize(comm, &flag);
        MPIX_Harmonize_verdict(comm, &verdict);
        valid += verdict == 1;
        over = MPI_Wtime() - begin > TURN_SECONDS;
        PMPI_Bcast(&over, 1, MPI_INT, 0, world.comm);
    }
    const double passed = MPI_Wtime() - begin;
    MPI_Comm_free(&comm);
    return valid / passed;
}

static void mode_busy(void) {
    static const char *const slacks[] = {"auto", "published"};
    double rates[2] = {0.0, 0.0};
    double worst = 0.0;
    for (int turn = 0; turn < TURNS; ++turn) {
        double here[2];
        for (int i = 0; i < 2; ++i) {
            int which = (turn + i) % 2;
            here[which] = valid_per_second(slacks[which]);
            rates[which] += here[which] / TURNS;
        }
        double ratio = here[1] / (here[0] > 1e-3 ? here[0] : 1e-3);
        worst = ratio > worst ? ratio : worst;
    }
    if (world.rank == 0)
        printf("{\"busy_ratio\": %.4f, \"busy_valid\": %.1f, \"busy_published_valid\": %.1f}\n", worst, rates[0],
               rates[1]);
}

/* Medians over calls, in ns: a reading of the global clock; a start, with the wait for its deadline; from the deadline
 * to the first reading after a start; and from the first rank's such reading to the last one's, if all flags are 1. */
static void mode_calls(void) {
    enum { CALLS = 5000, BATCH = 20 };
    double *reading = allocate(CALLS, sizeof(double));
    double *call = allocate(CALLS, sizeof(double));
    double *first = allocate(CALLS, sizeof(double));
    double *least = allocate(CALLS, sizeof(double));
    double *most = allocate(CALLS, sizeof(double));
    int *flags = allocate(CALLS, sizeof(int));
    double now;
    MPIX_Harmonize_sync(world.comm);
    for (int i = 0; i < CALLS; ++i) {
        double begin = MPI_Wtime();
        for (int k = 0; k < BATCH; ++k)
            MPIX_Harmonize_time(world.comm, &now);
        reading[i] = (MPI_Wtime() - begin) * 1e9 / BATCH;
    }
    for (int i = 0; i < CALLS; ++i) {
        double begin = MPI_Wtime();
        MPIX_Harmonize(world.comm, &flags[i]);
        call[i] = (MPI_Wtime() - begin) * 1e9;
    }
    for (int i = 0; i < CALLS; ++i) {
        double deadline;
        MPIX_Harmonize(world.comm, &flags[i]);
        MPIX_Harmonize_time(world.comm, &now);
        MPIX_Harmonize_deadline(world.comm, &deadline);
        first[i] = (now - deadline) * 1e9;
    }
    MPI_Allreduce(first, least, CALLS, MPI_DOUBLE, MPI_MIN, world.comm);
    MPI_Allreduce(first, most, CALLS, MPI_DOUBLE, MPI_MAX, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, flags, CALLS, MPI_INT, MPI_MIN, world.comm);
    int valid = 0;
    for (int i = 0; i < CALLS; ++i)
        if (flags[i])
            least[valid++] = most[i] - least[i];
    if (world.rank == 0)
        printf("{\"time_ns\": %.1f, \"call_ns\": %.1f, \"first_ns\": %.1f, \"skew_ns\": %.1f}\n",
               median(reading, CALLS), median(call, CALLS), median(first, CALLS), median(least, valid));
    free(reading);
    free(call);
    free(first);
    free(least);
    free(most);
    free(flags);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"start", mode_start}, {"crowd", mode_crowd}, {"recovery", mode_recovery}, {"misses", mode_misses},
                 {"first", mode_first}, {"busy", mode_busy},   {"calls", mode_calls}};

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
                "figures: usage: figures MODE; valid modes: start, crowd, recovery, misses, first, busy, calls\n");
    MPI_Comm_free(&world.comm);
    MPI_Finalize();
    return status;
}