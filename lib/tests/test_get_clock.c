/* Downbeat_get_clock: what it converts is what MPIX_Harmonize_time and MPIX_Harmonize_error_bound say. */
#include "check_mpi.h"
#include "downbeat/clock.h"

#include <math.h>
#include <stdlib.h>

static MPI_Comm comm;
static int rank;

static const double ROUNDING = 1e-9; /* s */

static Downbeat_clock get(void) {
    Downbeat_clock clock;
    OK(Downbeat_get_clock(comm, &clock));
    return clock;
}

/* A reading between two readings of the global clock is converted to a time between them. */
static void converts_as_the_global_clock(void) {
    Downbeat_clock clock = get();
    CHECK(clock.tick > 0.0);
    for (int i = 0; i < 20; ++i) {
        double before = time_of(comm);
        int64_t ticks = clock.read(clock.clock) - clock.ticks;
        double after = time_of(comm);
        double time = ((double)clock.global + (double)ticks * clock.tick) * 1e-9;
        CHECK(ticks >= 0);
        CHECK_THAT(time, >=, before - ROUNDING);
        CHECK_THAT(time, <=, after + ROUNDING);
    }
}

static double expected_error(void) {
    double error;
    OK(MPIX_Harmonize_expected_error(comm, &error));
    return error;
}

static void expected_error_grows_as_the_clock_s(void) {
    Downbeat_clock clock = get();
    pause_for(0.01);
    double before = expected_error();
    double t = (double)(clock.read(clock.clock) - clock.ticks) * clock.tick;
    double after = expected_error();
    double variance = clock.variance + t * (2.0 * clock.cross + t * (clock.rate + t * clock.walk / 3.0));
    double bound = clock.bound + t * (clock.growth + t * clock.ramp / 2.0);
    double error = fmin(sqrt(fmax(0.0, variance)), bound / sqrt(3.0)) * 1e-9;
    CHECK_THAT(error, >=, before - ROUNDING);
    CHECK_THAT(error, <=, after + ROUNDING);
    if (rank > 0)
        CHECK_THAT(error, >, ROUNDING);
}

static void bound_grows_as_the_clock_s(void) {
    Downbeat_clock clock = get();
    pause_for(0.01);
    double before = bound_of(comm);
    double passed = (double)(clock.read(clock.clock) - clock.ticks) * clock.tick;
    double after = bound_of(comm);
    double bound = (clock.bound + passed * (clock.growth + passed * clock.ramp / 2.0)) * 1e-9;
    CHECK_THAT(bound, >=, before - ROUNDING);
    CHECK_THAT(bound, <=, after + ROUNDING);
    if (rank == 0) {
        CHECK_THAT(clock.bound, ==, 0.0);
        CHECK_THAT(clock.growth, ==, 0.0);
    } else {
        CHECK_THAT(clock.growth, >, 0.0);
    }
}

/* Ticks of this process, whatever they are worth elsewhere: a line through two synchronizations leads near the truth.
 */
static void a_synchronization_leaves_another_map(void) {
    Downbeat_clock first = get();
    pause_for(0.01);
    OK(MPIX_Harmonize_sync(comm));
    Downbeat_clock second = get();
    CHECK(second.ticks > first.ticks);
    CHECK(second.read(second.clock) >= second.ticks);
    double passed = (double)(second.ticks - first.ticks);
    double between = (double)(second.global - first.global);
    double allowed = first.bound + passed * first.tick * first.growth + second.bound + 1.0;
    CHECK_THAT(between - passed * first.tick, <=, allowed);
    CHECK_THAT(between - passed * first.tick, >=, -allowed);
}

/* Fewer than 32 clocks have no partners. */
static void few_clocks_have_no_edges(void) {
    Downbeat_edge edge;
    int count = -1;
    double scatter = -1.0;
    OK(Downbeat_get_edges(comm, 1, &edge, &count, &scatter));
    CHECK_THAT(count, ==, 0);
    CHECK_THAT(scatter, ==, 0.0);
    OK(Downbeat_get_edges(comm, 0, NULL, &count, &scatter));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_get_edges(comm, 1, NULL, &count, &scatter));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_get_edges(comm, -1, &edge, &count, &scatter));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_get_edges(comm, 1, &edge, NULL, &scatter));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_get_edges(comm, 1, &edge, &count, NULL));
}

/* Ranks that represent a clock, of up to two ranks, have partners that do, too, and have them for partners. */
static void many_clocks_know_their_edges(int size) {
    enum { PARTNERS = 24 };
    MPI_Comm clocks;
    Downbeat_edge edges[PARTNERS];
    int count;
    double scatter;
    int partners[1 + PARTNERS] = {0};
    int *all = malloc((size_t)size * sizeof partners);
    CHECK(all != NULL);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &clocks));
    OK(set_one(clocks, "validation", "offset=1e-3,seed=1,ranks_per_clock=2"));
    OK(MPIX_Harmonize_sync(clocks));
    OK(Downbeat_get_edges(clocks, PARTNERS, edges, &count, &scatter));
    CHECK(count == PARTNERS || (count == 0 && rank % 2 == 1));
    CHECK((scatter > 0.0) == (count > 0));
    partners[0] = count;
    for (int i = 0; i < count; ++i)
        partners[1 + i] = edges[i].partner;
    OK(MPI_Allgather(partners, 1 + PARTNERS, MPI_INT, all, 1 + PARTNERS, MPI_INT, clocks));
    for (int i = 0; i < count; ++i) {
        CHECK(edges[i].partner != rank && edges[i].partner >= 0 && edges[i].partner < size);
        const int *theirs = &all[edges[i].partner * (1 + PARTNERS)];
        int known = 0;
        for (int k = 1; k <= theirs[0]; ++k)
            known += theirs[k] == rank;
        CHECK_THAT(known, ==, 1);
    }
    free(all);
    OK(MPI_Comm_free(&clocks));
}

static void errors(void) {
    MPI_Comm other;
    Downbeat_clock clock;
    FAILS_WITH(MPI_ERR_ARG, Downbeat_get_clock(comm, NULL));
    FAILS_WITH(MPI_ERR_COMM, Downbeat_get_clock(MPI_COMM_NULL, &clock));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
    FAILS_WITH(MPI_ERR_OTHER, Downbeat_get_clock(other, &clock));
    OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv) {
    int size;
    comm = begin_mpi(&argc, &argv, &rank, &size);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)); /* of MPI_COMM_NULL, since MPI 4 */
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPIX_Harmonize_sync(comm));
    converts_as_the_global_clock();
    OK(set_one(comm, "validation", "offset=10,skew=9e-6,seed=3"));
    OK(MPIX_Harmonize_sync(comm));
    converts_as_the_global_clock();
    bound_grows_as_the_clock_s();
    expected_error_grows_as_the_clock_s();
    a_synchronization_leaves_another_map();
    if (size >= 64)
        many_clocks_know_their_edges(size);
    else
        few_clocks_have_no_edges();
    errors();
    return end_mpi(&comm);
}
