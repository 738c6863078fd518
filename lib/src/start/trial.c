#include "start/trial.h"

#include "start/decision.h"

/* Trial rounds: the first COLD_ROUNDS are slow and do not count; the median of the other 15 is the basis of the first
 * slack. Choice; half and twice: same. */
#define COLD_ROUNDS 4
#define ROUNDS 19
/* In a round longer than this multiple of `longest_ns` a process was descheduled, and the trial ends. Choice:
 * connections are set up in less than 5 ms; half and twice: same. */
#define LONG_ROUND 5

/* On process 0: passes the largest lag of the last round to the slack controller. Returns 1 if another round follows.
 */
static int observe_round(struct db_state *state, int round, int64_t lag_ns, double lasted_ns, int64_t longest_ns) {
    if (round > 0 &&
        lasted_ns > (double)(LONG_ROUND * longest_ns)) /* the first round waits for the last process to come */
        return 0;
    if (round <= COLD_ROUNDS)
        return 1;
    if (lag_ns > longest_ns)
        return 0;
    db_slack_observe(state->slack, &(struct db_slack_call){.lag_ns = lag_ns, .given_ns = lag_ns, .rest_ns = lag_ns});
    return round < ROUNDS;
}

int db_trial_rounds(struct db_state *state, int64_t longest_ns) {
    struct db_report report = {0};
    int more = 1;
    int64_t begin = db_clock_read(&state->clocks.clock);
    for (int round = 0; more; ++round) {
        struct db_report all;
        struct db_decision decision = {0};
        DB_TRY(db_gather_reports(state, &report, &all));
        if (state->rank == 0) {
            int64_t now = db_clock_read(&state->clocks.clock);
            double lasted_ns = (double)(now - begin) * state->clocks.clock.ns_per_tick;
            begin = now;
            decision.invalid = !observe_round(state, round, all.lag_ns, lasted_ns, longest_ns);
            decision.patience = db_waiting_next(state, &all);
            decision.deadline_ns = db_map_global_ns(&state->clocks.map, now);
        }
        DB_TRY(db_spread_decision(state, &decision));
        report.lag_ns =
            db_map_global_ns(&state->clocks.map, db_clock_read(&state->clocks.clock)) - decision.deadline_ns;
        more = !decision.invalid;
    }
    return MPI_SUCCESS;
}

int db_trial_broadcasts(struct db_state *state, int count, int64_t *mean_ns) {
    int64_t ticks = 0;
    db_waiting_trust(state);
    for (int i = 0; i < count; ++i) {
        int64_t word = 0;
        int64_t begin = db_clock_read(&state->clocks.clock);
        DB_TRY(db_broadcast(&state->channel, &word, 1));
        ticks += db_clock_read(&state->clocks.clock) - begin;
    }
    int64_t local_ns = llrint((double)ticks * state->clocks.clock.ns_per_tick / count);
    return db_reduce_max(&state->channel, &local_ns, mean_ns, 1);
}
