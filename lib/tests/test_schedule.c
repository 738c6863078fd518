/* When clocks are synchronized again, and how deep the tree is then: each rule on both sides of its limit, on a clock
 * that the test sets. */
#include "check.h"
#include "start/schedule.h"

#include <math.h>

static int64_t now;

static int64_t read_now(const struct db_clock *clock) {
    (void)clock;
    return now;
}

static const struct db_clock_type told = {.read = read_now};

/* Two ticks to a nanosecond; nothing is due. */
static struct db_state state_at_rest(void) {
    return (struct db_state){.settings = {.slack = &db_slack_auto, .max_error_ns = 1e12},
                             .clocks.clock = {.type = &told, .ns_per_tick = 0.5},
                             .clocks.local = {.ns_per_tick = 0.5},
                             .clocks.map = {.ns_per_tick = 0.5},
                             .thresholds.max_age_ns = INFINITY,
                             .thresholds.flag_error_ns = INFINITY,
                             .thresholds.trust_ns = INFINITY,
                             .thresholds.target_error_ns = INFINITY};
}

static enum db_due due_after(struct db_state *state, double ns) {
    db_schedule_invalidate(state); /* the test has changed something */
    return db_schedule_due(state, llrint(ns / state->clocks.clock.ns_per_tick));
}

static void age_is_limited(void) {
    struct db_state state = state_at_rest();
    state.thresholds.max_age_ns = 5e9;
    CHECK(!due_after(&state, 5e9));
    CHECK(due_after(&state, 5e9 + 1.0));
    state.syncs.last.ticks = 2000; /* 1 us */
    CHECK(!due_after(&state, 5e9 + 1000.0));
    CHECK(due_after(&state, 5e9 + 1001.0));
}

/* 100 ns from the beginning, and 1 ns more each millisecond. */
static void bound_may_grow_by_a_quarter(void) {
    struct db_state state = state_at_rest();
    state.clocks.map.bound_ns = 100.0;
    state.clocks.map.growth = 1e-6;
    state.syncs.last.bound_ns = 100.0;
    state.settings.max_error_ns = 110.0;
    CHECK(!due_after(&state, 24e6));
    CHECK(due_after(&state, 26e6));
    state.settings.max_error_ns = 250.0;
    CHECK(!due_after(&state, 149e6));
    CHECK(due_after(&state, 151e6));
    state.settings.slack = &db_slack_published; /* by age alone */
    CHECK(!due_after(&state, 1e9));
    state.thresholds.max_age_ns = 1e9;
    CHECK(due_after(&state, 1.1e9));
}

/* 10 ns from the beginning, 10 sqrt(2) ns after 0.1 s. */
static void expected_error_may_grow_by_half(void) {
    struct db_state state = state_at_rest();
    state.clocks.map.bound_ns = 1e6;
    state.clocks.map.uncertainty = (struct db_uncertainty){.offset = 100.0, .rate = 1e-14};
    state.syncs.last.deviation_ns = 10.0;
    state.thresholds.target_error_ns = 12.0;
    CHECK(!due_after(&state, 0.11e9)); /* 14.9 ns */
    CHECK(due_after(&state, 0.113e9)); /* 15.1 ns */
    state.thresholds.target_error_ns = 20.0;
    CHECK(!due_after(&state, 0.17e9)); /* 19.7 ns */
    CHECK(due_after(&state, 0.175e9)); /* 20.2 ns */
}

/* A path of the tree may serve 256 in all. */
static void first_tree_is_as_shallow_as_can_be_paid_for(void) {
    const int depths[][2] = {{1, 1}, {2, 1}, {256, 1}, {257, 2}, {16129, 2}, {16385, 3}, {600000, 3}, {640000, 4}};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; ++i)
        CHECK_THAT(db_schedule_first_depth(depths[i][0]), ==, depths[i][1]);
}

static int depth_of(int depth, int clocks, double duration_ns, double previous_duration_ns) {
    struct db_state state = state_at_rest();
    state.syncs.depth = depth;
    state.clocks.domain.count = clocks;
    state.syncs.last.duration_ns = duration_ns;
    state.syncs.last.previous_duration_ns = previous_duration_ns;
    return db_schedule_depth(&state);
}

/* By a level where that serves 30 % fewer, and both of the last two synchronizations took longer than 12 ms. */
static void slow_trees_become_deeper(void) {
    CHECK_THAT(depth_of(1, 64, 13e6, 13e6), ==, 2);
    CHECK_THAT(depth_of(1, 64, 12e6, 13e6), ==, 1);
    CHECK_THAT(depth_of(1, 64, 13e6, 12e6), ==, 1);
    CHECK_THAT(depth_of(1, 64, 13e6, 0.0), ==, 1); /* there was but one */
    CHECK_THAT(depth_of(1, 9, 13e6, 13e6), ==, 2); /* 6 in place of 9 */
    CHECK_THAT(depth_of(1, 8, 13e6, 13e6), ==, 1); /* 6 in place of 8 */
    CHECK_THAT(depth_of(2, 27, 13e6, 13e6), ==, 2);
    CHECK_THAT(depth_of(2, 1000, 13e6, 13e6), ==, 3);
}

static int allowed_after(struct db_state *state, double ns, double due_sync_ns) {
    now = llrint(ns / state->clocks.clock.ns_per_tick);
    state->syncs.automatic_ns = due_sync_ns;
    return db_schedule_allows(state, DB_DUE);
}

/* Where its flag would be 0: in doubt, or with an error that a synchronization makes small enough. */
static void what_flags_need_may_take_longer(void) {
    struct db_state state = state_at_rest();
    state.clocks.map.uncertainty.offset = 100.0; /* 10 ns */
    state.clocks.map.bound_ns = 1e6;
    state.syncs.last.deviation_ns = 5.0;
    state.thresholds.flag_error_ns = 10.5;
    CHECK_THAT(due_after(&state, 1e3), ==, 0);
    state.thresholds.flag_error_ns = 9.5;
    CHECK_THAT(due_after(&state, 1e3), ==, DB_URGENT);
    state.syncs.last.deviation_ns = 9.6; /* no better after one: several may be */
    CHECK_THAT(due_after(&state, 1e3), ==, DB_URGENT);
    CHECK(db_schedule_unsure(&state, 2000));
    state.contradiction.unresolved = 1;
    CHECK_THAT(due_after(&state, 1e3), ==, DB_URGENT);
    state.settings.slack = &db_slack_published; /* as who asks for an age */
    CHECK_THAT(due_after(&state, 1e3), ==, 0);
    state.settings.slack = &db_slack_auto;
    state.settings.max_age_ns = 1e9;
    CHECK_THAT(due_after(&state, 1e3), ==, 0);
    state.settings.max_age_ns = 0.0;

    /* An old comparison is needed where age counts in the flag. */
    state.settings.slack = &db_slack_auto;
    state.contradiction.unresolved = 0;
    state.thresholds.flag_error_ns = 10.5;
    state.thresholds.max_age_ns = 1e9;
    CHECK_THAT(due_after(&state, 1.1e9), ==, DB_DUE);
    CHECK(!db_schedule_unsure(&state, llrint(3e9)));
    state.thresholds.trust_ns = 1.2e9;
    CHECK_THAT(due_after(&state, 1.1e9), ==, DB_URGENT);
    CHECK(!db_schedule_unsure(&state, llrint(2.3e9)) && db_schedule_unsure(&state, llrint(2.5e9))); /* 0.5 ns each */
}

static int needed_after(struct db_state *state, double ns, double automatic_ns) {
    now = llrint(ns / state->clocks.clock.ns_per_tick);
    state->syncs.automatic_ns = automatic_ns;
    return db_schedule_allows(state, DB_URGENT);
}

/* 10 % of the first two seconds, then 1 % of what follows; after a clock was set, two such seconds more, but not again
 * and again. */
static void what_is_needed_may_take_more_in_the_beginning(void) {
    struct db_state state = state_at_rest();
    CHECK(needed_after(&state, 1.9e9, 0.189e9));
    CHECK(!needed_after(&state, 1.9e9, 0.191e9));
    CHECK(needed_after(&state, 12e9, 0.289e9) && !needed_after(&state, 12e9, 0.292e9));
    CHECK(!needed_after(&state, 42e9, 0.592e9));

    now = llrint(42e9 / state.clocks.clock.ns_per_tick);
    db_schedule_begin_again(&state);
    CHECK(needed_after(&state, 43.9e9, 4.38e9) && !needed_after(&state, 43.9e9, 4.40e9));
    CHECK(needed_after(&state, 54e9, 4.49e9) && !needed_after(&state, 54e9, 4.51e9));
    double extra_ns = 0.0;
    for (double ns = 60e9; ns < 160e9; ns += 0.1e9) {
        now = llrint(ns / state.clocks.clock.ns_per_tick);
        db_schedule_begin_again(&state);
        extra_ns += ns < state.syncs.beginning.end_ns ? 0.1e9 : 0.0;
    }
    CHECK_THAT(extra_ns, <=, 12.1e9); /* 4 s, and a twentieth of all time */
}

/* After the last one passes a sixteenth of the time since the beginning, or a hundred times what it took. */
static void they_are_spread(void) {
    struct db_state state = state_at_rest();
    state.syncs.count = 1;
    state.syncs.last.duration_ns = 10e6;
    state.syncs.last.ticks = llrint(1.6e9 / 0.5);
    CHECK(!allowed_after(&state, 1.7e9, 0.0));
    CHECK(allowed_after(&state, 1.71e9, 0.0));
    state.syncs.last.duration_ns = 2.5e6;
    state.syncs.last.ticks = llrint(9e9 / 0.5);
    CHECK(!allowed_after(&state, 9.24e9, 0.0));
    CHECK(allowed_after(&state, 9.26e9, 0.0));
    /* Nobody has compared clocks for long: soon again, and once more. */
    CHECK(allowed_after(&state, 20e9, 0.0));
    state.syncs.last.ticks = llrint(20e9 / 0.5);
    CHECK(allowed_after(&state, 20.001e9, 0.0));
}

/* 1 % of all time, and twelve synchronizations in advance, paid back within 20 s. */
static void time_is_limited(void) {
    struct db_state state = state_at_rest();
    state.syncs.last.duration_ns = 1e6;
    CHECK(allowed_after(&state, 0.0, 12e6));
    CHECK(!allowed_after(&state, 0.0, 12.1e6));
    CHECK(allowed_after(&state, 10e9, 105.9e6));
    CHECK(!allowed_after(&state, 10e9, 106.1e6));
    CHECK(allowed_after(&state, 40e9, 399.9e6));
    CHECK(!allowed_after(&state, 40e9, 400.1e6));

    /* A max_age that the user sets replaces the schedule. */
    state.settings.max_age_ns = 1e9;
    CHECK(allowed_after(&state, 40e9, 500e6));
    state.settings.max_age_ns = 0.0;
    CHECK(!allowed_after(&state, 40e9, 500e6));
    state.settings.slack = &db_slack_published;
    CHECK(allowed_after(&state, 40e9, 500e6));
}

int main(void) {
    age_is_limited();
    bound_may_grow_by_a_quarter();
    expected_error_may_grow_by_half();
    first_tree_is_as_shallow_as_can_be_paid_for();
    slow_trees_become_deeper();
    time_is_limited();
    what_flags_need_may_take_longer();
    what_is_needed_may_take_more_in_the_beginning();
    they_are_spread();
    return 0;
}
