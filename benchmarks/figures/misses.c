/* The state after missed deadlines, with the default and with Schuchart 2023, Alg. 1, as published: each on a
 * communicator of its own, with the same number of misses, then measured in turns. */
#include "starts.h"

#include <mpix_harmonize.h>
#include <stdio.h>

#define MISSES 11
#define WARM_UP 50
#define CALLS 2000
#define BLOCKS 20
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
    for (int i = 0; i < MISSES; ++i) {
        if (world.rank == world.size - 1)
            disturb();
        make_calls(method, 10);
    }
    /* On a busy machine more, of its own making, until a published slack is longer than a disturbance. */
    require(missed_deadlines(method->comm) >= MISSES / 2, "the disturbances did not reach the library");
}

/* Seconds. */
static double current_slack(const struct method *method) {
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(method->comm, &stats);
    return stats.slack;
}

void mode_misses(void) {
    struct method methods[] = {{.slack = "auto", .figures = "after_misses"},
                               {.slack = "published", .figures = "published"}};
    enum { METHODS = sizeof methods / sizeof *methods };
    for (int m = 0; m < METHODS; ++m) {
        methods[m].comm = with_slack(methods[m].slack);
        methods[m].starts = make_starts(CALLS);
        make_misses(&methods[m]);
    }
    int done = 0;
    int enough = 0;
    const double begin = MPI_Wtime();
    while (!enough) {
        for (int m = 0; m < METHODS; ++m)
            run_block(&methods[m].starts, done, done + CALLS / BLOCKS, methods[m].comm, with_harmonize);
        done += CALLS / BLOCKS;
        enough = done == CALLS || MPI_Wtime() - begin > LONGEST_SECONDS;
        MPI_Bcast(&enough, 1, MPI_INT, 0, world.comm);
    }
    for (int m = 0; m < METHODS; ++m) {
        methods[m].starts.count = done;
        methods[m].starts.cost_ns *= (double)CALLS / done;
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
