#include "start/schedule.h"

/* If bound or expected error were large from the beginning, a synchronization pays only once they have grown by these
 * factors. */
#define BOUND_GROWTH 1.25
#define DEVIATION_GROWTH 1.5

/* The share of all time; how many synchronizations may be spent in advance, so that clocks are known early, and when
 * that is paid back. */
#define SHARE 0.01
/* The share of time while flags would otherwise be 0: a flag of 0 costs a call. */
#define NEEDED_SHARE 0.1
#define ADVANCE_SYNCS 12.0
#define PAID_BACK_NS 20e9

/* If two synchronizations have taken longer than this, the tree may have a level more the next time: one of them may
 * have been interrupted, or have set up connections. */
#define LONG_SYNC_NS 12e6
/* How many processes the references on one path of the tree serve in all, before it is known how long that takes: with
 * 10 round trips of 4 us each, 10 ms. */
#define MOST_SERVED 256

static double age_ns(const struct db_state *state, int64_t ticks) {
    return (double)(ticks - state->syncs.last.ticks) * state->clocks.clock.ns_per_tick;
}

int db_schedule_unsure(const struct db_state *state, int64_t ticks) {
    return state->syncs.doubt > 0.0 || age_ns(state, ticks) > state->thresholds.trust_ns ||
           db_map_deviation_ns(&state->clocks.map, ticks) > state->thresholds.flag_error_ns;
}

int db_schedule_wants(const struct db_state *state) {
    int64_t ticks = db_clock_read(&state->clocks.clock);
    const struct db_settings *settings = &state->settings;
    double deviation_ns = db_map_deviation_ns(&state->clocks.map, ticks);
    int old = age_ns(state, ticks) > state->thresholds.max_age_ns;
    int untrusted = deviation_ns > state->thresholds.flag_error_ns || (old && isfinite(state->thresholds.trust_ns));
    int own_schedule = settings->slack->age_ns > 0.0 || settings->max_age_ns > 0.0;
    if (!own_schedule && (state->syncs.doubt > 0.0 || untrusted))
        return DB_NEEDED;
    if (old)
        return DB_WANTED;
    if (settings->slack->age_ns > 0.0)
        return 0;
    double bound_ns = fmax(settings->max_error_ns, BOUND_GROWTH * state->syncs.last.bound_ns);
    if (db_map_bound_ns(&state->clocks.map, ticks) > bound_ns)
        return 1;
    return deviation_ns > fmax(state->thresholds.target_error_ns, DEVIATION_GROWTH * state->syncs.last.deviation_ns);
}

static double served(int depth, int clocks) { return depth * ceil(pow(clocks, 1.0 / depth)); }

int db_schedule_first_depth(int clocks) {
    int depth = 1;
    while (served(depth, clocks) > MOST_SERVED)
        ++depth;
    return depth;
}

int db_schedule_depth(const struct db_state *state) {
    int depth = state->syncs.depth;
    int pays = served(depth + 1, state->clocks.domain.count) < 0.7 * served(depth, state->clocks.domain.count);
    int slow = fmin(state->syncs.last.lasted_ns, state->syncs.last.lasted_before_ns) > LONG_SYNC_NS;
    return slow && pays ? depth + 1 : depth;
}

int db_schedule_allows(const struct db_state *state, int wanted) {
    if (state->settings.max_age_ns > 0.0 || state->settings.slack->age_ns > 0.0)
        return 1;
    double passed_ns = db_map_elapsed_ns(&state->clocks.local, db_clock_read(&state->clocks.clock));
    double advance_ns = ADVANCE_SYNCS * state->syncs.last.lasted_ns * fmax(0.0, 1.0 - passed_ns / PAID_BACK_NS);
    double share = wanted == DB_NEEDED ? NEEDED_SHARE : SHARE;
    return state->syncs.due_ns <= share * passed_ns + advance_ns;
}
