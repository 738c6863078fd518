/* A communicator as it is after years: counters beyond 31 and 32 bits, a global clock that was prepared 30 days ago.
 * Both are set, not lived through. */
#include "check_mpi.h"
#include "start/prepare.h"

#include <math.h>
#include <stdint.h>

#define EVENTS 6
#define DAY_NS 86400e9
#define AGE_NS (30.0 * DAY_NS)

static int rank;

static struct db_state *state_of(MPI_Comm comm) {
    struct db_state *state;
    OK(db_state_find(comm, &state));
    return state;
}

static MPI_Comm prepared(void) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(set_one(comm, "share", "never"));
    harmonize(comm);
    return comm;
}

static void set_counters(MPI_Comm comm, long long to) {
    struct db_state *state = state_of(comm);
    state->counters.calls = to;
    state->counters.late_arrivals = to;
    state->counters.late_exits = to;
    state->counters.unsure_clocks = to;
    state->counters.unflagged_exits = to;
    state->counters.invalid_calls = to;
    state->syncs.count = to;
    state->messages = to;
    state->syncs.messages = to;
    state->clocks.map.version = to;
}

/* EVENTS starts; returns how many had a flag of 0 here, and in `of_all` how many had one anywhere. */
static int start_often(MPI_Comm comm, int *of_all) {
    int refused = 0;
    int flags[EVENTS];
    for (int i = 0; i < EVENTS; ++i) {
        OK(MPIX_Harmonize(comm, &flags[i]));
        refused += !flags[i];
    }
    OK(MPI_Allreduce(MPI_IN_PLACE, flags, EVENTS, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    *of_all = 0;
    for (int i = 0; i < EVENTS; ++i)
        *of_all += !flags[i];
    return refused;
}

/* Each counter passes `limit` by events that are counted here as well. */
static void counters_pass(long long limit) {
    const long long before = limit - EVENTS / 2;
    MPIX_Harmonize_stats stats;
    int of_all;

    MPI_Comm comm = prepared();
    OK(set_one(comm, "slack", "1e-9")); /* process 0 is late at its next reading of the clock, others soon after */
    OK(set_one(comm, "flag_error", "off"));
    set_counters(comm, before);
    int refused = start_often(comm, &of_all);
    stats = stats_of(comm);
    CHECK_THAT(stats.calls - before, ==, EVENTS);
    CHECK_THAT(stats.late_arrivals - before + stats.late_exits - before, ==, refused);
    if (rank == 0)
        CHECK_THAT(stats.late_arrivals - before, ==, EVENTS);
    CHECK_THAT(of_all, ==, EVENTS);
    CHECK_THAT(verdict_of(comm), ==, 0);
    /* The first of these starts counted the one before it, the last is not known yet. */
    CHECK_THAT(stats.invalid_calls - before, >=, EVENTS - 1);
    CHECK_THAT(stats.invalid_calls - before, <=, EVENTS);
    OK(MPI_Comm_free(&comm));

    comm = prepared();
    OK(set_one(comm, "slack", "1e-3"));
    OK(set_one(comm, "tolerance", "1e-9")); /* shorter than any reading of the clock */
    OK(set_one(comm, "flag_error", "off"));
    set_counters(comm, before);
    refused = start_often(comm, &of_all);
    stats = stats_of(comm);
    CHECK_THAT(stats.late_exits + stats.late_arrivals - 2 * before, ==, refused);
    CHECK_THAT(stats.late_exits, >=, limit - EVENTS);
    OK(MPI_Comm_free(&comm));

    comm = prepared();
    OK(set_one(comm, "slack", "published"));
    OK(set_one(comm, "tolerance", "1e-9"));
    set_counters(comm, before);
    int made = EVENTS - start_often(comm, &of_all); /* flags of 1 */
    stats = stats_of(comm);
    CHECK_THAT(stats.calls - before, ==, EVENTS);
    CHECK_THAT(stats.unflagged_exits - before, >=, 0);
    CHECK_THAT(stats.unflagged_exits - before, <=, made);
    OK(MPI_Comm_free(&comm));

    comm = prepared();
    OK(set_one(comm, "flag_error", "1e-9")); /* no clock but process 0's is known so well */
    set_counters(comm, before);
    start_often(comm, &of_all);
    stats = stats_of(comm);
    CHECK_THAT(stats.unsure_clocks - before, ==, rank == 0 ? 0 : EVENTS);
    OK(MPI_Comm_free(&comm));

    comm = prepared();
    set_counters(comm, before);
    for (int i = 0; i < EVENTS; ++i)
        OK(MPIX_Harmonize_sync(comm));
    stats = stats_of(comm);
    CHECK_THAT(stats.syncs - before, ==, EVENTS);
    CHECK_THAT(stats.sync_messages, >, limit); /* many per synchronization */
    CHECK_THAT(stats.sync_messages - before, <, 100000);
    CHECK_THAT(state_of(comm)->messages - before, ==, stats.sync_messages - before);
    CHECK_THAT((double)(state_of(comm)->clocks.map.version - before), ==, EVENTS);
    OK(MPI_Comm_free(&comm));
}

/* Moves the moment at which comm was prepared into the past, as if nobody had called anything since. */
static void grow_old(MPI_Comm comm, double ns) {
    struct db_state *state = state_of(comm);
    int64_t ticks = llrint(ns / state->clocks.clock.ns_per_tick);
    state->clocks.map.ticks -= ticks;
    state->clocks.local.ticks -= ticks;
    state->syncs.last.ticks -= ticks;
}

static void time_keeps_its_resolution(MPI_Comm comm) {
    double before = time_of(comm);
    int fine = 0;
    CHECK_THAT(before, >, AGE_NS * 1e-9 * 0.999);
    CHECK_THAT(before, <, AGE_NS * 1e-9 * 1.001);
    CHECK_THAT(nextafter(before, INFINITY) - before, <, 0.5e-9);
    for (int i = 0; i < 1000; ++i) {
        double now = time_of(comm);
        CHECK_THAT(now, >=, before);
        before = now;
        fine += ldexp(now, 30) != floor(ldexp(now, 30)); /* no multiple of 0.93 ns */
    }
    CHECK_THAT(fine, >, 300);
}

static void errors_are_within_bounds(MPI_Comm comm) {
    for (int i = 0; i < 5; ++i) {
        double error;
        double expected;
        OK(MPIX_Harmonize_sync(comm));
        OK(MPIX_Harmonize_true_error(comm, &error));
        double bound = bound_of(comm); /* later: on a busy machine a second passes, and both grow */
        OK(MPIX_Harmonize_expected_error(comm, &expected));
        CHECK_THAT(fabs(error), <=, bound);
        CHECK_THAT(expected, <=, bound);
        CHECK_THAT(bound, <, 1e-3);
    }
}

/* `validation`: so that true errors are known. */
static void a_clock_of_30_days_is_as_good(const char *validation) {
    MPI_Comm comm = prepared();
    OK(set_one(comm, "validation", validation));
    OK(MPIX_Harmonize_sync(comm));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    grow_old(comm, AGE_NS);
    OK(MPIX_Harmonize_sync(comm));
    time_keeps_its_resolution(comm);
    errors_are_within_bounds(comm);
    CHECK_THAT(stats_of(comm).sync_share, <, 1e-3);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    counters_pass((long long)INT32_MAX);
    counters_pass((long long)UINT32_MAX);
    counters_pass(1000000LL * UINT32_MAX);
    a_clock_of_30_days_is_as_good("offset=1e-3,skew=10e-6,wander=1e-7,seed=5");
    MPI_Finalize();
    return 0;
}
