/* Harmonized starts, or clock synchronizations, compared with the processor's counter, which all processes of a node
 * share, while something goes wrong.
 *
 *     fault-starts starts|prepared|syncs COUNT SECONDS
 *     fault-starts dies abort|mpi_abort|exit|return|segv
 *
 * Makes COUNT calls, or as many as it can in SECONDS; `prepared`: on a new communicator after each 50. `dies`: the last
 * process ends in this way. Prints one JSON object. */
#define _POSIX_C_SOURCE 200809L
#include "../../../benchmarks/figures/stamp.h"

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
    else if (strcmp(mode, "syncs") == 0 && argc > 3)
        make_syncs(atoll(argv[2]), atof(argv[3]));
    else if (strcmp(mode, "dies") == 0 && argc > 2)
        die(argv[2]);
    else
        status = 2;
    if (status != 0 && world.rank == 0)
        fprintf(stderr, "fault-starts: usage: fault-starts starts|prepared|syncs COUNT SECONDS, or dies HOW\n");
    MPI_Comm_free(&world.comm);
    MPI_Finalize();
    return status;
}
