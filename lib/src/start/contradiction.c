/* Detection of contradictions, and their reports to process 0 (contradiction.h). */
#include "start/contradiction.h"

#include "start/schedule.h"

#include <math.h>

double db_contradiction_of_maps(const struct db_clock_map *before, const struct db_clock_map *after, int64_t ticks) {
    double difference_ns = fabs((double)(db_map_global_ns(after, ticks) - db_map_global_ns(before, ticks)));
    double allowed_ns = db_map_bound_ns(before, ticks) + db_map_bound_ns(after, ticks) + DB_ROUNDING_NS;
    return difference_ns > allowed_ns ? difference_ns / fmax(1.0, db_map_elapsed_ns(before, ticks)) : 0.0;
}

double db_contradiction_of_order(const struct db_state *state, const struct db_decision *decision, int64_t arrived,
                                 int64_t ready) {
    const struct db_clock_map *map = &state->clocks.map;
    int64_t decided_ns = decision->deadline_ns - decision->slack_ns;
    int64_t early_ns = decided_ns - db_map_global_ns(map, ready);   /* ready before the decision by this time */
    int64_t ahead_ns = db_map_global_ns(map, arrived) - decided_ns; /* arrived after the decision by this time */
    double disorder_ns = (double)(early_ns > ahead_ns ? early_ns : ahead_ns);
    if (disorder_ns <= 0.0)
        return 0.0;
    double likely_ns = (double)state->thresholds.tolerance_ns + 4.0 * db_map_expected_ns(map, ready);
    double allowed_ns =
        fmin(db_map_bound_ns(map, ready), likely_ns) + state->clocks.clock.resolution_ns + DB_ROUNDING_NS;
    return disorder_ns > allowed_ns ? disorder_ns / fmax(1.0, db_map_elapsed_ns(map, ready)) : 0.0;
}

void db_contradiction_record(struct db_state *state, double difference) {
    struct db_contradiction *contradiction = &state->contradiction;
    ++contradiction->count;
    contradiction->unresolved = 1;
    contradiction->unreported = fmax(contradiction->unreported, difference);
    db_schedule_invalidate(state);
}

void db_contradiction_resolve(struct db_state *state, double difference) {
    state->contradiction.unresolved = 0;
    if (difference > 0.0)
        db_contradiction_record(state, difference);
}

/* A word contains size and rank, so that the maximum over processes is the largest size with its rank: 1.5 ppm at rank
 * 3 is 1500 ppb << 24 | 3, more than 1499 ppb at any rank. There are bits for 16 million ranks and sizes up to 2.7 *
 * 10^11 ppb. */
#define RANK_BITS 24
#define MAX_PPB ((double)((int64_t)1 << (62 - RANK_BITS)))

int64_t db_contradiction_take(struct db_state *state) {
    double difference = state->contradiction.unreported;
    state->contradiction.unreported = 0.0;
    return difference > 0.0 ? (int64_t)fmin(MAX_PPB, ceil(difference * 1e9)) << RANK_BITS | state->rank : 0;
}

void db_contradiction_print(struct db_state *state, int64_t word) {
    struct db_reason reason;
    if (word == 0 || state->contradiction.printed)
        return;
    state->contradiction.printed = 1;
    db_explain(&reason, MPI_ERR_OTHER,
               "the clock of rank %d moved against the others as if its frequency were off by %.3g ppm, which max_skew "
               "(%g ppm) and max_wander (%g ppm) exclude: the clock was set, or its frequency is off or has changed; "
               "starts have flag 0 until the next synchronization without contradiction; if this message recurs, raise "
               "max_skew or choose another clock",
               (int)(word & (((int64_t)1 << RANK_BITS) - 1)), (double)(word >> RANK_BITS) * 1e-3,
               state->settings.max_skew * 1e6, state->settings.max_wander * 1e6);
    db_print(reason.text);
}
