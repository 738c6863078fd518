/* When processes leave MPIX_Harmonize, by a counter that all of them share: the truth about hosts made of namespaces,
 * whose clocks differ. */
#include <mpix_harmonize.h>

#include "stamp.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define USAGE                                                                                                          \
    "usage: exits [SECONDS [PERIOD]]\n"                                                                                \
    "Calls MPIX_Harmonize every PERIOD seconds (0.002) for SECONDS (15) and writes one JSON object: how long a cache " \
    "line takes from rank 0 to rank 1 and back, twice a second (ns), and for each rank its calls after the first "     \
    "second: the exit, the flag, a reading of the global clock (s) with its stamp, the expected error and the bound "  \
    "(s), the synchronizations so far, the time that they took (s), and the deadline (s).\n"

struct call {
    int64_t exit;
    int flag;
    /* The global clock, in s, at a stamp: clock spreads do not depend on scheduling. */
    double time;
    int64_t stamp;
    double expected;
    double bound;
    double deadline;
    int syncs;
    double sync_seconds;
};

/* A cache line of two ranks, in a file that all hosts see: the state of the machine. */
struct line {
    _Alignas(128) _Atomic int asked;
    _Alignas(128) _Atomic int answered;
};

enum { BATCHES = 32, TRIPS = 4, MOST_LINES = 8192 };
#define PATIENCE_NS 200000

static struct line *map_line(int rank) {
    char path[] = "/tmp/exits-XXXXXX";
    int file = rank == 0 ? mkstemp(path) : -1;
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank > 0)
        file = open(path, O_RDWR);
    if (file < 0 || ftruncate(file, sizeof(struct line)) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    void *line = mmap(NULL, sizeof(struct line), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    if (line == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return line;
}

/* The shortest of some trips, by rank 0; not a number where the other has no processor. */
static double time_line(struct line *line, int round) {
    const int64_t end_ns = monotonic_ns() + PATIENCE_NS;
    double shortest_ns = INFINITY;
    int number = round * BATCHES * TRIPS;
    for (int i = 0; i < BATCHES; ++i) {
        const int64_t before_ns = monotonic_ns();
        for (int k = 0; k < TRIPS; ++k) {
            line->asked = ++number;
            while (line->answered != number)
                if (monotonic_ns() > end_ns)
                    return NAN;
        }
        shortest_ns = fmin(shortest_ns, (double)(monotonic_ns() - before_ns) / TRIPS);
    }
    return shortest_ns;
}

static void return_line(struct line *line, int round) {
    const int64_t end_ns = monotonic_ns() + 2 * PATIENCE_NS;
    for (int number = 0; number != (round + 1) * BATCHES * TRIPS && monotonic_ns() < end_ns;) {
        number = line->asked;
        line->answered = number;
    }
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

static void note_clock(struct call *call) {
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(MPI_COMM_WORLD, &stats);
    call->expected = stats.expected_error;
    call->bound = stats.error_bound;
    MPIX_Harmonize_deadline(MPI_COMM_WORLD, &call->deadline);
    call->syncs = (int)stats.syncs;
    call->sync_seconds = stats.sync_seconds;
}

static int lines_read;
static double lines[MOST_LINES];

static void make_calls(struct call *calls, int count, double period_ns, struct line *line, int rank) {
    const int between = (int)ceil(0.5e9 / period_ns);
    int64_t begin_ns = monotonic_ns();
    for (int i = 0; i < count; ++i) {
        while ((double)(monotonic_ns() - begin_ns) < i * period_ns) {
        }
        MPIX_Harmonize(MPI_COMM_WORLD, &calls[i].flag);
        calls[i].exit = stamp();
        note_clock(&calls[i]);
        read_together(&calls[i]);
        if (i % between != between / 2 || lines_read == MOST_LINES)
            continue;
        if (rank == 0)
            lines[lines_read] = time_line(line, lines_read);
        else if (rank == 1)
            return_line(line, lines_read);
        ++lines_read;
    }
}

/* Writes the calls after the first `skipped`; `all` is by rank and call. Stamps count from the first of them. */
static void report(const struct call *all, int size, int calls, int skipped) {
    const int64_t first = all[skipped].exit;
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(MPI_COMM_WORLD, &stats);
    printf("{\"ns_per_stamp\": %.9g, \"clock_domains\": %d, \"lines_ns\": [", ns_per_stamp(), stats.clock_domains);
    const char *separator = "";
    for (int i = 0; i < lines_read; ++i)
        if (!isnan(lines[i])) {
            printf("%s%.0f", separator, lines[i]);
            separator = ", ";
        }
    printf("], \"ranks\": [");
    for (int rank = 0; rank < size; ++rank)
        for (int i = skipped; i < calls; ++i) {
            const struct call *call = &all[(size_t)rank * (size_t)calls + (size_t)i];
            printf("%s[%" PRId64 ", %d, %.12f, %" PRId64 ", %.4g, %.4g, %d, %.6f, %.12f]%s", i == skipped ? "[" : ", ",
                   call->exit - first, call->flag, call->time, call->stamp - first, call->expected, call->bound,
                   call->syncs, call->sync_seconds, call->deadline,
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
    struct line *line = map_line(rank);
    make_calls(mine, calls, period * 1e9, line, rank);
    MPI_Gather(mine, calls * (int)sizeof *mine, MPI_BYTE, all, calls * (int)sizeof *mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        report(all, size, calls, (int)(1.0 / period));
    free(all);
    free(mine);
    MPI_Finalize();
    return 0;
}
