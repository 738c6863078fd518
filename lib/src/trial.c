#include "trial.h"

#include "agree.h"
#include "state.h"

/* Enough rounds for a controller of lags to begin. */
#define ROUNDS 16

int db_trial_rounds(struct db_state *state, int64_t longest_ns, int64_t *largest_ns) {
    struct db_report report = {0};
    *largest_ns = 0;
    for (int round = 0; round <= ROUNDS; ++round) {
        struct db_report all;
        struct db_decision decision = {0};
        DB_TRY(db_gather_reports(&state->channel, &report, &all));
        if (state->rank == 0) {
            decision.invalid = round > 1 && all.lag_ns > longest_ns;
            if (round > 1 && !decision.invalid) {
                db_slack_observe(
                    state->slack,
                    &(struct db_slack_call){.lag_ns = all.lag_ns, .given_ns = all.lag_ns, .rest_ns = all.lag_ns});
                *largest_ns = all.lag_ns > *largest_ns ? all.lag_ns : *largest_ns;
            }
            decision.deadline_ns = db_map_global_ns(&state->map, db_clock_read(&state->clock));
        }
        DB_TRY(db_spread_decision(&state->channel, &decision));
        if (decision.invalid)
            break;
        report.lag_ns = db_map_global_ns(&state->map, db_clock_read(&state->clock)) - decision.deadline_ns;
    }
    return MPI_SUCCESS;
}

int db_trial_broadcasts(const struct db_state *state, int count, int64_t *mean_ns) {
    int64_t ticks = 0;
    for (int i = 0; i < count; ++i) {
        int64_t word = 0;
        int64_t begin = db_clock_read(&state->clock);
        DB_TRY(db_broadcast(&state->channel, &word, 1));
        ticks += db_clock_read(&state->clock) - begin;
    }
    int64_t mine = llrint((double)ticks * state->clock.ns_per_tick / count);
    return db_reduce_max(&state->channel, &mine, mean_ns, 1);
}
