#include "start/schedule.h"

/* If bound or expected error exceed their targets already after a synchronization, the next one is due when they have
 * grown by these factors. Choice; half and twice of the growth: same; published schemes synchronize that much more or
 * less often. */
#define BOUND_GROWTH 1.25
#define DEVIATION_GROWTH 1.5

/* Share of all time for synchronizations. Choice: the cost to users; half: 15 % fewer valid starts after the first 2 s;
 * twice: same. */
#define SHARE 0.01
/* An advance on the budget of this many synchronizations, so that clocks are accurate early, and the time until it is
 * paid back. Choice; half and twice: same. */
#define ADVANCE_SYNCS 12.0
#define PAID_BACK_NS 20e9
/* Share of time for urgent synchronizations, in the beginning and after a contradiction: a flag of 0 costs a call.
 * Choice; half: 3 % fewer valid starts; twice: same. */
#define URGENT_SHARE 0.1
/* Length of the beginning: clocks that are not accurate by then do not profit from more frequent synchronizations.
 * Choice; half and twice: same. */
#define BEGINNING_NS 2e9
/* Limit of all later beginnings, for a clock that is set repeatedly: the time of two, plus a share of all time in which
 * urgent synchronizations take 0.5 %, half of SHARE. Derived from the others. */
#define BEGINNINGS_NS (2.0 * BEGINNING_NS)
#define BEGINNINGS_SHARE (SHARE / (2.0 * URGENT_SHARE))
/* Shortest interval between synchronizations, as a share of the time since the beginning or a pause of PAUSE_NS, unless
 * SHARE allows a shorter one: soon after a synchronization another one adds little information. Choice; half: 40 % more
 * time for the same starts; twice: 20 % less time, 1 % fewer valid starts. */
#define SPREAD (1.0 / 16.0)
/* A pause in which the rates of clocks have wandered. Choice; half and twice: same. */
#define PAUSE_NS 10e9
/* Lookahead of the cached check (is_good), which saves the check in most starts. Choice; half and twice: same. */
#define GOOD_NS 1e6

/* If the last two synchronizations both took longer than this, the tree may get another level; a single one may have
 * been interrupted, or have set up connections. Derivation: more than the 10 ms of MAX_SERVED, so that the first tree
 * stays. */
#define LONG_SYNC_NS 12e6
/* Largest number of processes that the references on one path of the first tree serve in sum, before a synchronization
 * was timed. Derivation: with 10 round trips of 4 us each, 10 ms, which is 1 % of the time between comparisons. */
#define MAX_SERVED 256
/* Another level, which adds half a round trip to the bound, must reduce the number of served processes to this share.
 * Choice; half and twice of the 30 %: one level less or more for some numbers of processes. */
#define LEVEL_PAYS 0.7

static double age_ns(const struct db_state *state, int64_t ticks) {
    return (double)(ticks - state->syncs.last.ticks) * state->clocks.clock.ns_per_tick;
}

static int unsure_at(const struct db_state *state, int64_t ticks) {
    return state->contradiction.unresolved || age_ns(state, ticks) > state->thresholds.trust_ns ||
           db_map_deviation_ns(&state->clocks.map, ticks) > state->thresholds.flag_error_ns;
}

static enum db_due due_at(const struct db_state *state, int64_t ticks) {
    const struct db_settings *settings = &state->settings;
    double deviation_ns = db_map_deviation_ns(&state->clocks.map, ticks);
    int old = age_ns(state, ticks) > state->thresholds.max_age_ns;
    int untrusted = deviation_ns > state->thresholds.flag_error_ns || (old && isfinite(state->thresholds.trust_ns));
    int own_schedule = settings->slack->age_ns > 0.0 || settings->max_age_ns > 0.0;
    if (!own_schedule && (state->contradiction.unresolved || untrusted))
        return DB_URGENT;
    if (old)
        return DB_DUE;
    if (settings->slack->age_ns > 0.0)
        return DB_NOT_DUE;
    double bound_ns = fmax(settings->max_error_ns, BOUND_GROWTH * state->syncs.last.bound_ns);
    if (db_map_bound_ns(&state->clocks.map, ticks) > bound_ns)
        return DB_DUE;
    double limit_ns = fmax(state->thresholds.target_error_ns, DEVIATION_GROWTH * state->syncs.last.deviation_ns);
    return deviation_ns > limit_ns ? DB_DUE : DB_NOT_DUE;
}

static int is_good_at(const struct db_state *state, int64_t ticks) {
    return due_at(state, ticks) == DB_NOT_DUE && !unsure_at(state, ticks);
}

/* True if the clock is neither due nor unsure; cached for the next GOOD_NS. */
static int is_good(struct db_state *state, int64_t ticks) {
    struct db_good *good = &state->syncs.good;
    if (ticks >= good->from && ticks <= good->until)
        return 1;
    if (!is_good_at(state, ticks))
        return 0;
    /* Age and bound are monotonic and the variance is convex, so checking both ends covers the interval. */
    int64_t until = ticks + (int64_t)(GOOD_NS / state->clocks.clock.ns_per_tick);
    *good = (struct db_good){.from = ticks, .until = is_good_at(state, until) ? until : ticks};
    return 1;
}

enum db_due db_schedule_due(struct db_state *state, int64_t ticks) {
    return is_good(state, ticks) ? DB_NOT_DUE : due_at(state, ticks);
}

int db_schedule_unsure(struct db_state *state, int64_t ticks) {
    return !is_good(state, ticks) && unsure_at(state, ticks);
}

void db_schedule_invalidate(struct db_state *state) { state->syncs.good = (struct db_good){.from = 1, .until = 0}; }

static double served(int depth, int clocks) { return depth * ceil(pow(clocks, 1.0 / depth)); }

int db_schedule_first_depth(int clocks) {
    int depth = 1;
    while (served(depth, clocks) > MAX_SERVED)
        ++depth;
    return depth;
}

int db_schedule_depth(const struct db_state *state) {
    int depth = state->syncs.depth;
    int pays = served(depth + 1, state->clocks.domain.count) < LEVEL_PAYS * served(depth, state->clocks.domain.count);
    int slow = fmin(state->syncs.last.lasted_ns, state->syncs.last.lasted_before_ns) > LONG_SYNC_NS;
    return slow && pays ? depth + 1 : depth;
}

static double elapsed_ns(const struct db_state *state) {
    return db_map_elapsed_ns(&state->clocks.local, db_clock_read(&state->clocks.clock));
}

void db_schedule_begin_again(struct db_state *state) {
    struct db_synchronizations *syncs = &state->syncs;
    double now_ns = elapsed_ns(state);
    double until_ns = now_ns + BEGINNING_NS;
    double longer_ns = until_ns - fmax(now_ns, fmax(BEGINNING_NS, syncs->beginning.until_ns));
    if (syncs->beginning.again_ns + longer_ns > BEGINNINGS_NS + BEGINNINGS_SHARE * now_ns)
        return;
    syncs->beginning.again_ns += longer_ns;
    syncs->beginning.from_ns = now_ns;
    syncs->beginning.until_ns = until_ns;
}

int db_schedule_allows(struct db_state *state, enum db_due due) {
    if (state->settings.max_age_ns > 0.0 || state->settings.slack->age_ns > 0.0)
        return 1;
    struct db_synchronizations *syncs = &state->syncs;
    double now_ns = elapsed_ns(state);
    double until_ns = fmax(BEGINNING_NS, syncs->beginning.until_ns);
    double old_ns = age_ns(state, db_clock_read(&state->clocks.clock));
    if (old_ns > PAUSE_NS)
        syncs->beginning.from_ns = now_ns;
    if (syncs->count > 0 && old_ns < fmin(SPREAD * (now_ns - syncs->beginning.from_ns), syncs->last.lasted_ns / SHARE))
        return 0;
    double advance_ns = ADVANCE_SYNCS * syncs->last.lasted_ns * fmax(0.0, 1.0 - now_ns / PAID_BACK_NS);
    int beginning = now_ns < until_ns;
    if (beginning)
        syncs->beginning.due_ns = syncs->due_ns;
    else if (due == DB_URGENT)
        return syncs->due_ns - syncs->beginning.due_ns <= SHARE * (now_ns - until_ns);
    double share = due == DB_URGENT ? URGENT_SHARE : SHARE;
    return syncs->due_ns <= share * now_ns + advance_ns;
}
