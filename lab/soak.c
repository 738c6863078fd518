/* As many harmonized starts in one program as a measurement of days makes, to find what grows or drifts.
 *
 *     soak-starts STARTS SECONDS
 *
 * Makes STARTS starts, or as many as it can in that time, at least a hundredth, and prints one JSON object. Starts are
 * made in blocks, a thousandth of STARTS each; after each, all processes report failed starts, memory and descriptors.
 * Starts that fail are counted from the flags of all processes, not from what the library says of them: `stats` must
 * come to the same. */
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

/* A block, as process 0 reports it. */
struct block {
    double ns;      /* per start */
    double slack;   /* s, mean over every SLACK_EVERY-th start */
    long long late; /* starts with a flag of 0 on any process */
};

struct world {
    MPI_Comm comm;
    int rank;
    int size;
    double ns_per_stamp;
};

/* One process's own count, of what the library counts too. */
struct counts {
    long long starts;
    long long refused;  /* flags of 0 here */
    long long unwanted; /* verdicts of 0: on all starts but the last */
};

static struct block run_block(const struct world *world, long long count, unsigned char *flags, unsigned char *all,
                              struct counts *counts) {
    struct block block = {0};
    const int64_t begin = stamp();
    int slacks = 0;
    for (long long i = 0; i < count; ++i) {
        int flag;
        int verdict;
        MUST(MPIX_Harmonize(world->comm, &flag) == MPI_SUCCESS);
        flags[i] = (unsigned char)flag;
        MUST(MPIX_Harmonize_verdict(world->comm, &verdict) == MPI_SUCCESS);
        counts->unwanted += verdict == 0;
        counts->refused += !flag;
        if (i % SLACK_EVERY != 0)
            continue;
        MPIX_Harmonize_stats stats;
        MUST(MPIX_Harmonize_get_stats(world->comm, &stats) == MPI_SUCCESS);
        block.slack += stats.slack;
        ++slacks;
    }
    block.ns = (double)(stamp() - begin) * world->ns_per_stamp / (double)count;
    block.slack /= slacks;
    counts->starts += count;
    MUST(MPI_Reduce(flags, all, (int)count, MPI_UNSIGNED_CHAR, MPI_MIN, 0, world->comm) == MPI_SUCCESS);
    for (long long i = 0; world->rank == 0 && i < count; ++i)
        block.late += !all[i];
    return block;
}

static void print_blocks(const struct world *world, const struct block *blocks, int count, long long starts,
                         const struct holding *held) {
    printf("{\"ranks\": %d, \"blocks\": [", world->size);
    for (int i = 0; i < count; ++i) {
        printf("%s\n{\"starts\": %lld, \"ns\": %.1f, \"slack_ns\": %.1f, \"late\": %lld", i == 0 ? "" : ",", starts,
               blocks[i].ns, blocks[i].slack * 1e9, blocks[i].late);
        for (int field = 0; field < 2; ++field) {
            printf(", \"%s\": [", field == 0 ? "memory" : "descriptors");
            for (int rank = 0; rank < world->size; ++rank) {
                const struct holding *one = &held[(size_t)rank * BLOCKS + (size_t)i];
                printf("%s%lld", rank == 0 ? "" : ", ", field == 0 ? one->memory : one->descriptors);
            }
            printf("]");
        }
        printf("}");
    }
    printf("],\n\"processes\": [");
}

enum { NUMBERS = 8 };

static void print_processes(const struct world *world, const long long *numbers) {
    static const char *const names[NUMBERS] = {"starts",        "refused",    "unwanted",      "calls",
                                               "late_arrivals", "late_exits", "unsure_clocks", "invalid_calls"};
    for (int rank = 0; rank < world->size; ++rank) {
        for (int i = 0; i < NUMBERS; ++i)
            printf("%s\"%s\": %lld", i == 0 ? (rank == 0 ? "\n{" : ",\n{") : ", ", names[i],
                   numbers[rank * NUMBERS + i]);
        printf("}");
    }
    printf("]}\n");
}

static void soak(const struct world *world, long long starts, double seconds) {
    const long long each = starts / BLOCKS;
    unsigned char *flags = malloc((size_t)each);
    unsigned char *all = malloc((size_t)each);
    struct block *blocks = calloc(BLOCKS, sizeof *blocks);
    struct holding *mine = calloc(BLOCKS, sizeof *mine);
    struct holding *held = calloc((size_t)world->size * BLOCKS, sizeof *held);
    MUST(flags != NULL && all != NULL && blocks != NULL && mine != NULL && held != NULL);
    /* A page that the program itself touches for the first time would count as the library's. */
    memset(flags, 1, (size_t)each);
    memset(all, 1, (size_t)each);
    memset(blocks, 1, BLOCKS * sizeof *blocks);
    memset(mine, 1, BLOCKS * sizeof *mine);

    struct counts counts = {0};
    const int64_t begin = stamp();
    int made = 0;
    int going = 1;
    while (made < LEAST_BLOCKS || (made < BLOCKS && going)) {
        blocks[made] = run_block(world, each, flags, all, &counts);
        mine[made++] = holding();
        going = (double)(stamp() - begin) * world->ns_per_stamp * 1e-9 < seconds;
        MUST(MPI_Bcast(&going, 1, MPI_INT, 0, world->comm) == MPI_SUCCESS);
    }
    MPIX_Harmonize_stats stats;
    MUST(MPIX_Harmonize_get_stats(world->comm, &stats) == MPI_SUCCESS);
    const long long numbers[NUMBERS] = {counts.starts,       counts.refused,      counts.unwanted,
                                        stats.calls,         stats.late_arrivals, stats.late_exits,
                                        stats.unsure_clocks, stats.invalid_calls};
    long long *gathered = calloc((size_t)world->size * NUMBERS, sizeof *gathered);
    MUST(gathered != NULL);
    const int bytes = (int)(BLOCKS * sizeof *mine);
    MUST(MPI_Gather(mine, bytes, MPI_BYTE, held, bytes, MPI_BYTE, 0, world->comm) == MPI_SUCCESS);
    MUST(MPI_Gather(numbers, NUMBERS, MPI_LONG_LONG, gathered, NUMBERS, MPI_LONG_LONG, 0, world->comm) == MPI_SUCCESS);
    if (world->rank == 0) {
        print_blocks(world, blocks, made, each, held);
        print_processes(world, gathered);
    }
    free(gathered);
    free(held);
    free(mine);
    free(blocks);
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
