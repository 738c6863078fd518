/* Common starts on a simulated cluster, where true time is known: test_smpi_starts RANKS_PER_NODE */
#include "check.h"

#include <math.h>
#include <mpi.h>
#include <mpix_harmonize.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>

#define CALLS 10
#define TOLERANCE 0.5e-6
#define ROUNDING 4e-9

/* The spread of a value over the ranks. */
static double spread(double value) {
    double ends[2] = {value, -value};
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return ends[0] + ends[1];
}

static double largest(double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int ranks_per_node = argc > 1 ? atoi(argv[1]) : 1;

    for (int i = 0; i < 6; ++i) { /* until frequencies are known */
        CHECK(MPIX_Harmonize_sync(MPI_COMM_WORLD) == MPI_SUCCESS);
        sg_actor_sleep_for(0.01);
    }
    int valid = 0;
    for (int call = 0; call < CALLS; ++call) {
        int flag;
        CHECK(MPIX_Harmonize(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
        double left = simgrid_get_clock();
        double error;
        double bound;
        CHECK(MPIX_Harmonize_true_error(MPI_COMM_WORLD, &error) == MPI_SUCCESS);
        CHECK(MPIX_Harmonize_error_bound(MPI_COMM_WORLD, &bound) == MPI_SUCCESS);
        /* The bound holds, and it is what a start may differ by. */
        CHECK(fabs(error) <= bound + ROUNDING);
        int all = !(int)largest(!flag);
        double skew = spread(left);
        double errors = spread(error);
        double bounds = 2.0 * largest(bound);
        if (all)
            CHECK(skew <= TOLERANCE + bounds);
        valid += all;
        /* Ranks sleep until their clocks show the deadline, so that only their clocks' errors keep them apart. */
        CHECK(!all || skew <= errors + ROUNDING);
    }
    CHECK_THAT(valid, >=, CALLS / 2); /* of messages with a heavy tail some are late */

    MPIX_Harmonize_stats stats;
    CHECK(MPIX_Harmonize_get_stats(MPI_COMM_WORLD, &stats) == MPI_SUCCESS);
    CHECK(stats.clock_domains == (size + ranks_per_node - 1) / ranks_per_node);
    CHECK(!stats.oversubscribed);
    MPI_Finalize();
    return 0;
}
