/* Trial rounds and trial broadcasts (trial.h), whose lags and durations determine the first slack. */
#include "start/trial.h"

#include "start/decision.h"

/* Trial rounds. The first COLD_ROUNDS are slow and do not count; slack_auto.c uses the median of the other 15. Chosen
 * by hand; half or twice the values makes no difference. */
#define COLD_ROUNDS 4
#define ROUNDS 19
/* A round that takes longer than this multiple of `max_lag_ns` means that a process was descheduled; the trial ends.
 * Chosen by hand, since connections are set up in less than 5 ms; half or twice the value makes no difference. */
#define LONG_ROUND 5

/* On process 0: passes the largest lag of the last round to the slack controller. Returns 1 if another round follows.
 */
static int observe_round(struct db_state *state, int round, int64_t lag_ns, double duration_ns, int64_t max_lag_ns) {
    if (round > 0 &&
        duration_ns >
            (double)(LONG_ROUND * max_lag_ns)) /* not in the first round, which waits for the last process to arrive */
        return 0;
    if (round <= COLD_ROUNDS)
        return 1;
    if (lag_ns > max_lag_ns)
        return 0;
    db_slack_observe(state->slack, &(struct db_slack_call){.lag_ns = lag_ns, .slack_ns = lag_ns, .base_ns = lag_ns});
    return round < ROUNDS;
}

int db_trial_rounds(struct db_state *state, int64_t max_lag_ns) {
    struct db_report report = {0};
    int continued = 1;
    int64_t begin = db_clock_read(&state->clocks.clock);
    for (int round = 0; continued; ++round) {
        struct db_report maxima;
        struct db_decision decision = {0};
        DB_TRY(db_gather_reports(state, &report, &maxima));
        if (state->rank == 0) {
            int64_t now = db_clock_read(&state->clocks.clock);
            double duration_ns = (double)(now - begin) * state->clocks.clock.ns_per_tick;
            begin = now;
            /* In a trial, `invalid` means that this is the last round, and `deadline_ns` is the time of the decision.
             */
            decision.invalid = !observe_round(state, round, maxima.lag_ns, duration_ns, max_lag_ns);
            decision.patience = db_waiting_next(state, &maxima);
            decision.deadline_ns = db_map_global_ns(&state->clocks.map, now);
        }
        DB_TRY(db_spread_decision(state, &decision));
        report.lag_ns =
            db_map_global_ns(&state->clocks.map, db_clock_read(&state->clocks.clock)) - decision.deadline_ns;
        continued = !decision.invalid;
    }
    return MPI_SUCCESS;
}

int db_trial_broadcasts(struct db_state *state, int count, int64_t *mean_ns) {
    int64_t ticks = 0;
    db_waiting_block(state);
    for (int i = 0; i < count; ++i) {
        int64_t word = 0;
        int64_t begin = db_clock_read(&state->clocks.clock);
        DB_TRY(db_broadcast(&state->channel, &word, 1));
        ticks += db_clock_read(&state->clocks.clock) - begin;
    }
    int64_t local_ns = llrint((double)ticks * state->clocks.clock.ns_per_tick / count);
    return db_reduce_max(&state->channel, &local_ns, mean_ns, 1);
}
