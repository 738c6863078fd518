/* As many harmonized starts in one program as a measurement of days makes, to find what grows or drifts.
 *
 *     soak-starts STARTS SECONDS
 *
 * Makes STARTS starts, or as many as it can in that time, at least a hundredth, in blocks of a thousandth of STARTS.
 * Prints a JSON object for each block (failed starts; memory and descriptors of each process), then one for each
 * process. Failed starts are counted from the flags of all processes, not from what the library says of them: `stats`
 * must come to the same. */
#define _POSIX_C_SOURCE 200809L
#include "../benchmarks/figures/stamp.h"

#include <dirent.h>
#include <mpi.h>
#include <mpix_harmonize.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 1000, LEAST_BLOCKS = 10, SLACK_EVERY = 16 };

static void must(int fine, const char *what) {
    if (fine)
        return;
    fprintf(stderr, "soak-starts: failed: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define MUST(condition) must(condition, #condition)

/* Resources of a process after a block. */
struct holding {
    long long memory; /* resident, bytes */
    long long descriptors;
};

static struct holding holding(void) {
    struct holding found = {0};
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    MUST(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
    fclose(file);
    found.memory = pages * sysconf(_SC_PAGESIZE);
    DIR *directory = opendir("/proc/self/fd");
    MUST(directory != NULL);
    while (readdir(directory) != NULL)
        ++found.descriptors;
    closedir(directory);
    found.descriptors -= 3; /* "." and "..", and the directory itself */
    return found;
}

struct world {
    MPI_Comm comm;
    int rank;
    int size;
    double ns_per_stamp;
};

/* Counters of a process: its own, then the library's. */
enum counter { STARTS, REFUSED, UNWANTED, CALLS, LATE_ARRIVALS, LATE_EXITS, UNSURE_CLOCKS, INVALID_CALLS, COUNTERS };
static const char *const counter_names[COUNTERS] = {"starts",        "refused",    "unwanted",      "calls",
                                                    "late_arrivals", "late_exits", "unsure_clocks", "invalid_calls"};

static void gather(const struct world *world, const void *mine, int bytes, void *all) {
    MUST(MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, world->comm) == MPI_SUCCESS);
}

/* Makes a block of starts and prints it. `flags` and `all` have room for its flags, `held` for all processes. */
static void run_block(const struct world *world, long long count, unsigned char *flags, unsigned char *all,
                      struct holding *held, long long *counters) {
    const int64_t begin = stamp();
    double slack = 0.0;
    int slacks = 0;
    long long late = 0;
    for (long long i = 0; i < count; ++i) {
        int flag;
        int verdict;
        MUST(MPIX_Harmonize(world->comm, &flag) == MPI_SUCCESS);
        flags[i] = (unsigned char)flag;
        MUST(MPIX_Harmonize_verdict(world->comm, &verdict) == MPI_SUCCESS);
        counters[UNWANTED] += verdict == 0; /* of all starts but the last */
        counters[REFUSED] += !flag;
        if (i % SLACK_EVERY != 0)
            continue;
        MPIX_Harmonize_stats stats;
        MUST(MPIX_Harmonize_get_stats(world->comm, &stats) == MPI_SUCCESS);
        slack += stats.slack;
        ++slacks;
    }
    const double ns = (double)(stamp() - begin) * world->ns_per_stamp / (double)count;
    counters[STARTS] += count;
    MUST(MPI_Reduce(flags, all, (int)count, MPI_UNSIGNED_CHAR, MPI_MIN, 0, world->comm) == MPI_SUCCESS);
    const struct holding mine = holding();
    gather(world, &mine, (int)sizeof mine, held);
    if (world->rank != 0)
        return;
    for (long long i = 0; i < count; ++i)
        late += !all[i];
    printf("{\"starts\": %lld, \"ns\": %.1f, \"slack_ns\": %.1f, \"late\": %lld, \"memory\": [", count, ns,
           slack / slacks * 1e9, late);
    for (int rank = 0; rank < world->size; ++rank)
        printf("%s%lld", rank == 0 ? "" : ", ", held[rank].memory);
    printf("], \"descriptors\": [");
    for (int rank = 0; rank < world->size; ++rank)
        printf("%s%lld", rank == 0 ? "" : ", ", held[rank].descriptors);
    printf("]}\n");
}

static void print_processes(const struct world *world, long long *counters) {
    MPIX_Harmonize_stats stats;
    MUST(MPIX_Harmonize_get_stats(world->comm, &stats) == MPI_SUCCESS);
    counters[CALLS] = stats.calls;
    counters[LATE_ARRIVALS] = stats.late_arrivals;
    counters[LATE_EXITS] = stats.late_exits;
    counters[UNSURE_CLOCKS] = stats.unsure_clocks;
    counters[INVALID_CALLS] = stats.invalid_calls;
    long long *all = calloc((size_t)world->size * COUNTERS, sizeof *all);
    MUST(all != NULL);
    gather(world, counters, COUNTERS * (int)sizeof *counters, all);
    for (int rank = 0; rank < world->size && world->rank == 0; ++rank)
        for (int i = 0; i < COUNTERS; ++i)
            printf("%s\"%s\": %lld%s", i == 0 ? "{" : ", ", counter_names[i], all[rank * COUNTERS + i],
                   i + 1 == COUNTERS ? "}\n" : "");
    free(all);
}

static void soak(const struct world *world, long long starts, double seconds) {
    const long long each = starts / BLOCKS;
    unsigned char *flags = malloc((size_t)each);
    unsigned char *all = malloc((size_t)each);
    struct holding *held = calloc((size_t)world->size, sizeof *held);
    long long counters[COUNTERS] = {0};
    MUST(flags != NULL && all != NULL && held != NULL);
    /* A page that the program itself touches for the first time would count as the library's. */
    memset(flags, 1, (size_t)each);
    memset(all, 1, (size_t)each);
    const int64_t begin = stamp();
    int going = 1;
    for (int made = 0; made < LEAST_BLOCKS || (made < BLOCKS && going); ++made) {
        run_block(world, each, flags, all, held, counters);
        going = (double)(stamp() - begin) * world->ns_per_stamp * 1e-9 < seconds;
        MUST(MPI_Bcast(&going, 1, MPI_INT, 0, world->comm) == MPI_SUCCESS);
    }
    print_processes(world, counters);
    free(held);
    free(all);
    free(flags);
}

int main(int argc, char **argv) {
    const long long starts = argc == 3 ? atoll(argv[1]) : 0;
    const double seconds = argc == 3 ? atof(argv[2]) : 0.0;
    struct world world;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.size);
    world.ns_per_stamp = ns_per_stamp();
    const int fine = starts >= (long long)BLOCKS * SLACK_EVERY && seconds > 0.0;
    if (fine)
        soak(&world, starts, seconds);
    else if (world.rank == 0)
        fprintf(stderr, "soak-starts: usage: soak-starts STARTS SECONDS, at least %d starts\n", BLOCKS * SLACK_EVERY);
    MPI_Comm_free(&world.comm);
    MPI_Finalize();
    return fine ? 0 : 2;
}
