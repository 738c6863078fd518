/* How far from the truth the global clock is, on hosts that share nothing but the processor's counter.
 *
 * Hosts made of namespaces have clocks with different origins, or with different identities; the counter below is one.
 * So each rank stamps its global clock with the counter, and the difference between two ranks' clocks at one and the
 * same instant is computed, apart from the time that a reading takes, which is reported as its uncertainty. */
#include <mpix_harmonize.h>

#include "stamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USAGE                                                                                                          \
    "usage: truth [--repetitions N] [SCHEME...]\n"                                                                     \
    "Synchronizes clocks N times (5) by each scheme in turn, by default by the one of DOWNBEAT_SYNC, and writes one\n" \
    "JSON object per synchronization: for every rank its error against rank 0 and the bound that the library "         \
    "claims.\n"

enum { READINGS = 50, HOST_SIZE = 64 };

/* The counter that all hosts share. Elsewhere than on x86-64 the stamps of the figures are monotonic, so that a host's
 * origin is in them; the realtime clock is common to all. */
static int64_t common_stamp(void) {
#if defined(__x86_64__)
    return stamp();
#else
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
#endif
}

/* A process's global clock showed `global_ns` at `stamp`, give or take `half_width`, in stamps. */
struct reading {
    double global_ns;
    int64_t stamp;
    int64_t half_width;
};

/* A rank after a synchronization. */
struct report {
    struct reading reading;
    double bound_ns;
    double monotonic_s;
    int node; /* smallest rank with which this one shares memory */
    char host[HOST_SIZE];
};

static int rank;
static int size;

/* The narrowest of many: any of them may be interrupted. */
static struct reading read_global(MPI_Comm comm) {
    struct reading best = {.half_width = INT64_MAX};
    for (int i = 0; i < READINGS; ++i) {
        double time;
        const int64_t before = common_stamp();
        MPIX_Harmonize_time(comm, &time);
        const int64_t after = common_stamp();
        const int64_t half_width = (after - before + 1) / 2;
        if (half_width < best.half_width)
            best = (struct reading){.global_ns = time * 1e9, .stamp = before + half_width, .half_width = half_width};
    }
    return best;
}

static int find_node(void) {
    MPI_Comm node;
    int smallest = rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Bcast(&smallest, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    return smallest;
}

static void print_setting(MPI_Comm comm, const char *key) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found;
    MPI_Info info;
    MPIX_Harmonize_get_info(comm, &info);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    printf("\"%s\": \"%s\", ", key, value);
}

/* Rank 0 read its clock before and after all others read theirs; in between it is taken to run evenly. */
static void print_reports(const struct report *all, const struct reading *before, const struct reading *after) {
    const double ns_per_stamp = (after->global_ns - before->global_ns) / (double)(after->stamp - before->stamp);
    const int64_t reference = before->half_width > after->half_width ? before->half_width : after->half_width;
    for (int r = 0; r < size; ++r) {
        const struct reading *mine = &all[r].reading;
        double error_ns = 0.0;
        double uncertainty_ns = 0.0;
        if (r > 0) {
            double true_ns = before->global_ns + ns_per_stamp * (double)(mine->stamp - before->stamp);
            error_ns = mine->global_ns - true_ns;
            uncertainty_ns = ns_per_stamp * (double)(mine->half_width + reference);
        }
        printf("%s{\"rank\": %d, \"host\": \"%s\", \"node\": %d, \"error_ns\": %.1f, \"uncertainty_ns\": %.1f, "
               "\"bound_ns\": %.1f, \"monotonic_s\": %.6f}",
               r > 0 ? ", " : "", r, all[r].host, all[r].node, error_ns, uncertainty_ns, all[r].bound_ns,
               all[r].monotonic_s);
    }
}

static void synchronize_and_tell(MPI_Comm comm, int repetition, struct report *mine, struct report *all) {
    double seconds = MPI_Wtime();
    MPIX_Harmonize_sync(comm);
    seconds = MPI_Wtime() - seconds;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    const struct reading before = read_global(comm);
    MPI_Barrier(MPI_COMM_WORLD);
    struct timespec monotonic;
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    mine->monotonic_s = (double)monotonic.tv_sec + (double)monotonic.tv_nsec * 1e-9;
    mine->reading = read_global(comm);
    double bound;
    MPIX_Harmonize_error_bound(comm, &bound); /* later than the reading, so not smaller than it was then */
    mine->bound_ns = bound * 1e9;
    MPI_Gather(mine, sizeof *mine, MPI_BYTE, all, sizeof *mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    const struct reading after = read_global(comm);

    if (rank != 0)
        return;
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(comm, &stats);
    printf("{");
    print_setting(comm, "sync");
    print_setting(comm, "clock");
    printf("\"repetition\": %d, \"sync_seconds\": %.6f, \"clock_domains\": %d, \"ranks\": [", repetition, seconds,
           stats.clock_domains);
    print_reports(all, &before, &after);
    printf("]}\n");
    fflush(stdout);
}

/* With a scheme, or the one that is in force if it is NULL. */
static void try_scheme(const char *scheme, int repetitions, struct report *mine, struct report *all) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (scheme != NULL) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "sync", scheme);
        MPIX_Harmonize_set_info(comm, info);
        MPI_Info_free(&info);
    }
    for (int i = 0; i < repetitions; ++i)
        synchronize_and_tell(comm, i, mine, all);
    MPI_Comm_free(&comm);
}

static int parse_repetitions(const char *text) {
    char *end;
    const long count = strtol(text, &end, 10);
    return end != text && *end == '\0' && count >= 1 && count <= 1000000 ? (int)count : 0;
}

static int usage(void) {
    if (rank == 0)
        fputs(USAGE, stderr);
    MPI_Finalize();
    return 2;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int repetitions = 5;
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "--repetitions") == 0) {
        repetitions = argc > 2 ? parse_repetitions(argv[2]) : 0;
        first = 3;
    }
    if (repetitions == 0 || (argc > first && argv[first][0] == '-'))
        return usage();

    struct report mine = {.node = find_node()};
    struct report *all = calloc((size_t)size, sizeof *all);
    if (all == NULL || gethostname(mine.host, sizeof mine.host - 1) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (argc == first)
        try_scheme(NULL, repetitions, &mine, all);
    for (int i = first; i < argc; ++i)
        try_scheme(argv[i], repetitions, &mine, all);
    free(all);
    MPI_Finalize();
    return 0;
}
