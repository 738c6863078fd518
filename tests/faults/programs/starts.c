/* Harmonized starts, or clock synchronizations, compared with the processor's counter, which all processes of a node
 * share, while something goes wrong.
 *
 *     fault-starts starts|prepared|blocks|syncs COUNT SECONDS
 *     fault-starts dies abort|mpi_abort|exit|return|segv
 *
 * Makes COUNT calls, or as many as it can in SECONDS; `prepared`: on a new communicator after each 50; `blocks`: starts
 * in a thousand blocks, at least ten, to find what grows or drifts. `dies`: the last process ends in this way. Prints
 * one JSON object; `blocks`: one for each block, and one of counters. */
#define _POSIX_C_SOURCE 200809L
#include "../../../benchmarks/figures/stamp.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <mpix_harmonize.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLERANCE_NS 500.0 /* the library's default */
#define APART_NS 1000.0    /* what README calls a start that failed without anyone's knowing */

/* One call, on one process. Stamps of the processor's counter around the user's own first stamp. */
struct record {
    int64_t left;
    int64_t stamped;
    double begin;
    double deadline;
    double bound;
    int flag;
};

static struct {
    MPI_Comm comm;
    int rank;
    int size;
    double scale; /* ns per stamp */
} world;

static double seconds_since(int64_t begin) { return (double)(stamp() - begin) * world.scale * 1e-9; }

enum { BATCH = 50 };

struct totals {
    long long calls;
    long long valid;
    long long false_flags;  /* all flags 1, yet the processes leave more than 1 us apart */
    long long unexplained;  /* of these, those in which every process's own first stamp met the deadline */
    long long false_stamps; /* of these, those with first stamps that are certainly further apart than they may be */
    double worst_stamp_us;  /* by which such first stamps are certainly apart */
    long long on_tsc;       /* communicators whose process 0 reads the TSC; `others` reads another clock */
    long long others;
};

/* Rank 0 judges a batch of starts; `all` has those of process 0 first. */
static void judge(const struct record *all, int count, struct totals *totals) {
    for (int i = 0; i < count; ++i) {
        int flags = 1;
        int on_time = 1;
        double bound = 0.0;
        int64_t left[2] = {INT64_MAX, INT64_MIN};
        int64_t stamped[2] = {INT64_MAX, INT64_MIN}; /* earliest end, latest begin */
        for (int r = 0; r < world.size; ++r) {
            const struct record *one = &all[r * count + i];
            flags = flags && one->flag;
            on_time = on_time && fabs(one->begin - one->deadline) * 1e9 <= TOLERANCE_NS;
            bound = fmax(bound, one->bound * 1e9);
            left[0] = one->left < left[0] ? one->left : left[0];
            left[1] = one->left > left[1] ? one->left : left[1];
            stamped[0] = one->stamped < stamped[0] ? one->stamped : stamped[0];
            stamped[1] = one->left > stamped[1] ? one->left : stamped[1];
        }
        ++totals->calls;
        if (!flags)
            continue;
        const double apart_ns = (double)(left[1] - left[0]) * world.scale;
        const double certain_ns = (double)(stamped[1] - stamped[0]) * world.scale;
        ++totals->valid;
        totals->false_flags += apart_ns > APART_NS;
        if (!on_time)
            continue;
        totals->unexplained += apart_ns > fmax(APART_NS, TOLERANCE_NS + 2 * bound);
        totals->false_stamps += certain_ns > TOLERANCE_NS + 2 * bound;
        totals->worst_stamp_us = fmax(totals->worst_stamp_us, certain_ns * 1e-3);
    }
}

static void must(int code) {
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The next starts prepare their clocks again. */
static void renew(struct totals *totals) {
    MPI_Info info;
    char clock[64] = "";
    int found;
    must(MPIX_Harmonize_get_info(world.comm, &info));
    must(MPI_Info_get(info, "clock", (int)sizeof clock - 1, clock, &found));
    MPI_Info_free(&info);
    ++*(strcmp(clock, "tsc") == 0 ? &totals->on_tsc : &totals->others);
    must(MPI_Comm_free(&world.comm));
    must(MPI_Comm_dup(MPI_COMM_WORLD, &world.comm));
}

static void make_starts(long long count, double seconds, bool prepared) {
    struct record mine[BATCH];
    struct record *all = calloc((size_t)BATCH * (size_t)world.size, sizeof *all);
    struct totals totals = {0};
    int going = 1;
    int flag;
    must(MPIX_Harmonize(world.comm, &flag));
    const int64_t begin = stamp();
    while (going) {
        memset(mine, 0, sizeof mine);
        for (int i = 0; i < BATCH; ++i) {
            struct record *one = &mine[i];
            must(MPIX_Harmonize(world.comm, &one->flag));
            one->left = stamp();
            must(MPIX_Harmonize_time(world.comm, &one->begin));
            one->stamped = stamp();
            must(MPIX_Harmonize_deadline(world.comm, &one->deadline));
            must(MPIX_Harmonize_error_bound(world.comm, &one->bound));
        }
        must(MPI_Gather(mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, 0, world.comm));
        if (world.rank == 0)
            judge(all, BATCH, &totals);
        going = totals.calls < count && seconds_since(begin) < seconds;
        must(MPI_Bcast(&going, 1, MPI_INT, 0, world.comm));
        if (prepared)
            renew(&totals);
    }
    if (world.rank == 0)
        printf("{\"calls\": %lld, \"valid\": %lld, \"false_flags\": %lld, \"unexplained\": %lld, "
               "\"false_stamps\": %lld, \"worst_stamp_us\": %.3f, \"on_tsc\": %lld, \"others\": %lld}\n",
               totals.calls, totals.valid, totals.false_flags, totals.unexplained, totals.false_stamps,
               totals.worst_stamp_us, totals.on_tsc, totals.others);
    free(all);
}

enum { BLOCKS = 1000, LEAST_BLOCKS = 10, SLACK_EVERY = 16 };

/* Rank 0 prints for each process: after a block its resident memory in bytes, its descriptors, and its mean slack;
 * in the end its own counters of starts with a flag and with a verdict of 0, then the library's. */
enum { MEMORY, DESCRIPTORS, SLACK, HELD };
enum { REFUSED, UNWANTED, CALLS, LATE_ARRIVALS, LATE_EXITS, UNSURE_CLOCKS, INVALID_CALLS, COUNTERS };
static const char *const held_names[HELD] = {"memory", "descriptors", "slack_ns"};
static const char *const counter_names[COUNTERS] = {"refused",    "unwanted",      "calls",        "late_arrivals",
                                                    "late_exits", "unsure_clocks", "invalid_calls"};

static void print_lists(const char *const *names, const double *mine, int count) {
    double *all = calloc((size_t)count * (size_t)world.size, sizeof *all);
    must(MPI_Gather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, 0, world.comm));
    for (int i = 0; i < count && world.rank == 0; ++i) {
        printf("%s\"%s\": [", i == 0 ? "" : ", ", names[i]);
        for (int r = 0; r < world.size; ++r)
            printf("%s%.1f", r == 0 ? "" : ", ", all[r * count + i]);
        printf(i + 1 < count ? "]" : "]}\n");
    }
    free(all);
}

static void hold(double *held) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    DIR *directory = opendir("/proc/self/fd");
    must(file != NULL && directory != NULL && fscanf(file, "%*s %ld", &pages) == 1 ? MPI_SUCCESS : MPI_ERR_OTHER);
    fclose(file);
    held[MEMORY] = (double)pages * (double)sysconf(_SC_PAGESIZE);
    held[DESCRIPTORS] = -3.0; /* ".", "..", and the directory itself */
    while (readdir(directory) != NULL)
        ++held[DESCRIPTORS];
    closedir(directory);
}

/* `flags` and `all` have room for the flags of a block. */
static void make_block(long long count, unsigned char *flags, unsigned char *all, double *counters) {
    const int64_t begin = stamp();
    double held[HELD] = {0.0};
    long long late = 0;
    for (long long i = 0; i < count; ++i) {
        int flag;
        int verdict;
        must(MPIX_Harmonize(world.comm, &flag));
        must(MPIX_Harmonize_verdict(world.comm, &verdict));
        flags[i] = (unsigned char)flag;
        counters[REFUSED] += !flag;
        counters[UNWANTED] += verdict == 0; /* of all starts but the last */
        if (i % SLACK_EVERY != 0)
            continue;
        MPIX_Harmonize_stats stats;
        must(MPIX_Harmonize_get_stats(world.comm, &stats));
        held[SLACK] += stats.slack * 1e9 / (double)((count + SLACK_EVERY - 1) / SLACK_EVERY);
    }
    const double ns = seconds_since(begin) * 1e9 / (double)count;
    must(MPI_Reduce(flags, all, (int)count, MPI_UNSIGNED_CHAR, MPI_MIN, 0, world.comm));
    hold(held);
    for (long long i = 0; i < count && world.rank == 0; ++i)
        late += !all[i];
    if (world.rank == 0)
        printf("{\"starts\": %lld, \"ns\": %.1f, \"late\": %lld, ", count, ns, late);
    print_lists(held_names, held, HELD);
}

static void make_blocks(long long count, double seconds) {
    const long long each = count / BLOCKS > SLACK_EVERY ? count / BLOCKS : SLACK_EVERY;
    unsigned char *flags = malloc(2 * (size_t)each);
    double counters[COUNTERS] = {0.0};
    must(flags != NULL ? MPI_SUCCESS : MPI_ERR_OTHER);
    memset(flags, 1, 2 * (size_t)each); /* a page touched for the first time would count as the library's */
    const int64_t begin = stamp();
    int going = 1;
    for (int made = 0; made < LEAST_BLOCKS || (made < BLOCKS && going); ++made) {
        make_block(each, flags, flags + each, counters);
        going = seconds_since(begin) < seconds;
        must(MPI_Bcast(&going, 1, MPI_INT, 0, world.comm));
    }
    MPIX_Harmonize_stats stats;
    must(MPIX_Harmonize_get_stats(world.comm, &stats));
    const long long known[] = {stats.calls, stats.late_arrivals, stats.late_exits, stats.unsure_clocks,
                               stats.invalid_calls};
    for (int i = CALLS; i < COUNTERS; ++i)
        counters[i] = (double)known[i - CALLS];
    if (world.rank == 0)
        printf("{");
    print_lists(counter_names, counters, COUNTERS);
    free(flags);
}

/* Needs the validation clock: with it the true error is known. */
static void make_syncs(long long count, double seconds) {
    int going = 1;
    long long calls = 0;
    long long outside = 0;
    must(MPIX_Harmonize_sync(world.comm));
    const int64_t begin = stamp();
    while (going) {
        double error;
        double bound;
        must(MPIX_Harmonize_sync(world.comm));
        must(MPIX_Harmonize_true_error(world.comm, &error));
        must(MPIX_Harmonize_error_bound(world.comm, &bound));
        outside += fabs(error) > bound;
        ++calls;
        going = calls < count && seconds_since(begin) < seconds;
        must(MPI_Bcast(&going, 1, MPI_INT, 0, world.comm));
    }
    must(MPI_Allreduce(MPI_IN_PLACE, &outside, 1, MPI_LONG_LONG, MPI_SUM, world.comm));
    if (world.rank == 0)
        printf("{\"calls\": %lld, \"outside\": %lld}\n", calls, outside);
}

/* The last process ends among the starts of the others. */
static void die(const char *how) {
    for (int i = 0;; ++i) {
        int flag;
        must(MPIX_Harmonize(world.comm, &flag));
        if (world.rank != world.size - 1 || i < 1000)
            continue;
        if (strcmp(how, "abort") == 0)
            abort();
        if (strcmp(how, "mpi_abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 5);
        if (strcmp(how, "exit") == 0)
            exit(5);
        if (strcmp(how, "return") == 0)
            _exit(0); /* without MPI_Finalize, as if all were well */
        raise(SIGSEGV);
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.size);
    world.scale = ns_per_stamp();
    MPI_Bcast(&world.scale, 1, MPI_DOUBLE, 0, world.comm);
    int status = 0;
    const bool prepared = strcmp(mode, "prepared") == 0;
    if ((strcmp(mode, "starts") == 0 || prepared) && argc > 3)
        make_starts(atoll(argv[2]), atof(argv[3]), prepared);
    else if (strcmp(mode, "blocks") == 0 && argc > 3)
        make_blocks(atoll(argv[2]), atof(argv[3]));
    else if (strcmp(mode, "syncs") == 0 && argc > 3)
        make_syncs(atoll(argv[2]), atof(argv[3]));
    else if (strcmp(mode, "dies") == 0 && argc > 2)
        die(argv[2]);
    else
        status = 2;
    if (status != 0 && world.rank == 0)
        fprintf(stderr, "fault-starts: usage: fault-starts starts|prepared|blocks|syncs COUNT SECONDS, or dies HOW\n");
    MPI_Comm_free(&world.comm);
    MPI_Finalize();
    return status;
}
