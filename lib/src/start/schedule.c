/* When clocks are synchronized (schedule.h): by age, error bound and expected error of the clocks, within a budget of
 * time. Also the number of levels of the tree. */
#include "start/schedule.h"

/* If the bound or the expected error exceeds its target already directly after a synchronization, the next
 * synchronization is due after growth by these factors. Chosen by hand; half or twice the growth makes no difference,
 * except that published schemes synchronize twice or half as often. */
#define BOUND_GROWTH 1.25
#define DEVIATION_GROWTH 1.5

/* Maximum share of all time for synchronizations. Chosen by hand, since it is the cost to users. With half the value,
 * 15 % fewer starts are valid after the first 2 s; twice the value makes no difference. */
#define SHARE 0.01
/* The budget begins with an advance of ADVANCE_SYNCS synchronizations, so that clocks are accurate early; the advance
 * shrinks to 0 until PAID_BACK_NS. Chosen by hand; half or twice the values makes no difference. */
#define ADVANCE_SYNCS 12.0
#define PAID_BACK_NS 20e9
/* Maximum share of time for urgent synchronizations in the beginning and after a contradiction. It is larger, because a
 * flag of 0 costs a call. Chosen by hand. With half the value, 3 % fewer starts are valid; twice the value makes no
 * difference. */
#define URGENT_SHARE 0.1
/* Duration of the beginning: clocks that are not accurate by its end do not profit from more frequent synchronizations.
 * Chosen by hand; half or twice the value makes no difference. */
#define BEGINNING_NS 2e9
/* Limit of the sum of all later beginnings (db_schedule_begin_again), for a clock that is set repeatedly: the duration
 * of two beginnings, plus the share of all time in which urgent synchronizations take 0.5 %, half of SHARE. */
#define BEGINNINGS_NS (2.0 * BEGINNING_NS)
#define BEGINNINGS_SHARE (SHARE / (2.0 * URGENT_SHARE))
/* Minimum interval between synchronizations, as a share of the time since the beginning or since a pause of PAUSE_NS,
 * unless SHARE allows a shorter interval: a second synchronization soon after the first adds little information. Chosen
 * by hand. With half the value, synchronizations take 40 % more time for the same starts; with twice, 20 % less time,
 * and 1 % fewer starts are valid. */
#define SPREAD (1.0 / 16.0)
/* Time without synchronizations after which the rates of clocks may have wandered. Chosen by hand; half or twice the
 * value makes no difference. */
#define PAUSE_NS 10e9
/* Time for which is_good caches its result, which saves the check in most starts. Chosen by hand; half or twice the
 * value makes no difference. */
#define GOOD_NS 1e6

/* If the last two synchronizations both took longer than this, the tree may get another level; a single long one may
 * have been interrupted, or have set up connections. More than the 10 ms of MAX_SERVED, so that the first tree stays.
 */
#define LONG_SYNC_NS 12e6
/* Limit for the first tree: a reference serves its processes one after another, and this is the maximum sum of served
 * processes over the references on a path of the tree. With 10 round trips of 4 us each they take 10 ms, 1 % of the
 * time between comparisons. */
#define MAX_SERVED 256
/* The tree gets another level, which adds half a round trip to the bound, only if that reduces the number of served
 * processes to this share. Chosen by hand: with a reduction by 15 % or 60 % instead of 30 %, trees of some numbers of
 * processes have a level more or less. */
#define LEVEL_PAYS 0.7

/* Time since the last synchronization, ns. */
static double age_ns(const struct db_state *state, int64_t ticks) {
    return (double)(ticks - state->syncs.last.ticks) * state->clocks.clock.ns_per_tick;
}

/* db_schedule_unsure without the cache. */
static int unsure_at(const struct db_state *state, int64_t ticks) {
    return state->contradiction.unresolved || age_ns(state, ticks) > state->thresholds.trust_ns ||
           db_map_deviation_ns(&state->clocks.map, ticks) > state->thresholds.flag_error_ns;
}

/* db_schedule_due without the cache. If the user or the slack controller has set an age, only the age, or the targets
 * of the user, make a synchronization due, and it is never urgent. */
static enum db_due due_at(const struct db_state *state, int64_t ticks) {
    const struct db_settings *settings = &state->settings;
    double deviation_ns = db_map_deviation_ns(&state->clocks.map, ticks);
    int old = age_ns(state, ticks) > state->thresholds.max_age_ns;
    int untrusted = deviation_ns > state->thresholds.flag_error_ns || (old && isfinite(state->thresholds.trust_ns));
    int age_is_set = settings->slack->age_ns > 0.0 || settings->max_age_ns > 0.0;
    if (!age_is_set && (state->contradiction.unresolved || untrusted))
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

/* is_good without the cache. */
static int is_good_at(const struct db_state *state, int64_t ticks) {
    return due_at(state, ticks) == DB_NOT_DUE && !unsure_at(state, ticks);
}

/* Returns 1 if no synchronization is due and the clock is accurate enough for flags. The result is cached for the next
 * GOOD_NS. */
static int is_good(struct db_state *state, int64_t ticks) {
    struct db_good *good = &state->syncs.good;
    if (ticks >= good->from && ticks <= good->until)
        return 1;
    if (!is_good_at(state, ticks))
        return 0;
    /* Checking both ends covers the interval, because age and bound are monotonic and the variance is convex. */
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

/* Sum of the processes that the references on a path of a tree with `depth` levels serve, for `clocks` clocks. */
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
    int slow = fmin(state->syncs.last.duration_ns, state->syncs.last.previous_duration_ns) > LONG_SYNC_NS;
    return slow && pays ? depth + 1 : depth;
}

/* Time since the clock was opened, ns. */
static double elapsed_ns(const struct db_state *state) {
    return db_map_elapsed_ns(&state->clocks.local, db_clock_read(&state->clocks.clock));
}

void db_schedule_begin_again(struct db_state *state) {
    struct db_synchronizations *syncs = &state->syncs;
    double now_ns = elapsed_ns(state);
    double until_ns = now_ns + BEGINNING_NS;
    /* Time that is not in the current beginning, if there is one. */
    double extension_ns = until_ns - fmax(now_ns, fmax(BEGINNING_NS, syncs->beginning.end_ns));
    if (syncs->beginning.extra_ns + extension_ns > BEGINNINGS_NS + BEGINNINGS_SHARE * now_ns)
        return;
    syncs->beginning.extra_ns += extension_ns;
    syncs->beginning.start_ns = now_ns;
    syncs->beginning.end_ns = until_ns;
}

int db_schedule_allows(struct db_state *state, enum db_due due) {
    if (state->settings.max_age_ns > 0.0 || state->settings.slack->age_ns > 0.0)
        return 1;
    struct db_synchronizations *syncs = &state->syncs;
    double now_ns = elapsed_ns(state);
    double until_ns = fmax(BEGINNING_NS, syncs->beginning.end_ns);
    double since_last_ns = age_ns(state, db_clock_read(&state->clocks.clock));
    if (since_last_ns > PAUSE_NS)
        syncs->beginning.start_ns = now_ns;
    if (syncs->count > 0 &&
        since_last_ns < fmin(SPREAD * (now_ns - syncs->beginning.start_ns), syncs->last.duration_ns / SHARE))
        return 0;
    double advance_ns = ADVANCE_SYNCS * syncs->last.duration_ns * fmax(0.0, 1.0 - now_ns / PAID_BACK_NS);
    int is_beginning = now_ns < until_ns;
    if (is_beginning)
        syncs->beginning.automatic_ns = syncs->automatic_ns;
    else if (due == DB_URGENT) /* the larger budget of the beginning does not count against the time after it */
        return syncs->automatic_ns - syncs->beginning.automatic_ns <= SHARE * (now_ns - until_ns);
    double share = due == DB_URGENT ? URGENT_SHARE : SHARE;
    return syncs->automatic_ns <= share * now_ns + advance_ns;
}
