/* Valid starts per second beside other programs, with the default and as published, in alternation: each time on fresh
 * communicators, which of them begins alternates. benchmarks/library.py starts the other programs. */
#include "starts.h"

#include <mpix_harmonize.h>
#include <stdio.h>

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

void mode_busy(void) {
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
