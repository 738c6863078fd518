/* MPIX_Harmonize and MPIX_Harmonize_delayed: agree on a deadline, wait for it, report whether it was met. */
#include "start/harmonize.h"

#include "start/clocks.h"
#include "start/contradiction.h"
#include "start/release.h"
#include "start/schedule.h"
#include "start/tolerance.h"

#include <math.h>

/* A century of delay is a mistake, and would overflow. */
#define MAX_DELAY_SECONDS 3e9

/* Longest time to record a call, ns: if the slack leaves that much time, recording is free. */
#define OBSERVE_NS 100

/* Process 0 gives the slack controller its observations of the previous call. */
static void pass_observation(struct db_state *state) {
    if (!state->root.observed)
        return;
    state->root.observed = 0;
    db_slack_observe(state->slack, &state->root.observation);
}

/* Process 0 notes what it learned of the last call, and that it has decided now. */
static void note_last(struct db_state *state, int64_t lag_ns, int64_t lateness_ns, int64_t now) {
    if (state->counters.calls > 0) {
        state->root.observed = 1;
        state->root.observation = (struct db_slack_call){.lag_ns = lag_ns,
                                                         .given_ns = state->call.slack_ns,
                                                         .rest_ns = now - state->root.decided_ns - state->call.slack_ns,
                                                         .late = lag_ns <= state->call.slack_ns &&
                                                                 lateness_ns > state->thresholds.tolerance_ns};
    }
    state->root.decided_ns = now;
}

/* Process 0 sets the deadline. `all` have reported on the last call. */
static void set_deadline(struct db_state *state, const struct db_report *all, struct db_decision *decision) {
    decision->slack_ns = db_slack_next(state->slack);
    int64_t now = db_map_global_ns(&state->clocks.map, db_clock_read(&state->clocks.clock));
    decision->deadline_ns = now + decision->slack_ns;
    note_last(state, all->lag_ns, all->lateness_ns, now);
}

static struct db_report report_of(struct db_state *state, int64_t arrived) {
    double late_ns = (double)(state->call.left - state->call.released) * state->clocks.map.ns_per_tick;
    return (struct db_report){
        .lag_ns = state->call.lag_ns,
        .lateness_ns = late_ns > 0.0 ? (int64_t)late_ns : 0,
        .invalid = state->call.invalid,
        .stale = db_schedule_calm(state, arrived) ? 0 : db_schedule_wants(state),
        .error_ns = state->syncs.last.deviation_ns < 1e18 ? (int64_t)state->syncs.last.deviation_ns : (int64_t)1e18,
        .contradicted = db_contradiction_take(state)};
}

/* Whether the next calls can do without a decision. `all` have reported, and clocks are as they wanted them. */
static int settles(const struct db_state *state, const struct db_decision *decision, const struct db_report *all) {
    return state->transport.kind != DB_TRANSPORT_MESSAGES && state->settings.slack->judge == NULL &&
           (decision->synchronize || !all->stale) && !db_waiting_asks(state, all);
}

/* Process 0 decides on a deadline; clocks are synchronized first where any needs it (Schuchart 2023, Alg. 1).
 * `arrived`: a reading before this process reported. */
static int follow_process_0(struct db_state *state, const struct db_report *mine, struct db_decision *decision,
                            int64_t *arrived) {
    struct db_report all = {0};
    DB_TRY(db_gather_reports(state, mine, &all));
    *decision = (struct db_decision){
        .lateness_ns = all.lateness_ns, .invalid = all.invalid != 0, .tolerance_ns = state->thresholds.tolerance_ns};
    if (state->rank == 0) {
        decision->patience = (int32_t)db_waiting_next(state, &all);
        db_contradiction_print(state, all.contradicted);
        if (all.contradicted != 0)
            db_schedule_begin_again(state);
        int missed = db_slack_judge(state->slack, all.invalid != 0);
        if (missed || (all.stale && db_schedule_allows(state, (int)all.stale)))
            decision->synchronize = db_schedule_depth(state);
        decision->settled = settles(state, decision, &all);
        if (decision->synchronize)
            decision->tolerance_ns = db_tolerance_next(state, (double)all.error_ns);
        else
            set_deadline(state, &all, decision);
    }
    DB_TRY(db_spread_decision(state, decision));
    if (decision->tolerance_ns != state->thresholds.tolerance_ns)
        db_state_tolerate(state, decision->tolerance_ns);
    if (!decision->synchronize)
        return MPI_SUCCESS;

    DB_TRY(db_clocks_synchronize_due(state, decision->synchronize));
    /* Processes leave the synchronization one after another: gather them before the deadline is set. */
    struct db_report nothing = {0};
    struct db_report ready;
    *arrived = db_clock_read(&state->clocks.clock);
    DB_TRY(db_gather_reports(state, &nothing, &ready));
    if (state->rank == 0)
        set_deadline(state, &all, decision);
    return db_spread_decision(state, decision);
}

/* All decide alike that the deadline is a slack after the last one came, if none asks for a decision. Returns at once
 * what Alg. 1 takes a reduction and a broadcast for. */
static int decide_together(struct db_state *state, const struct db_report *mine, struct db_decision *decision,
                           int64_t arrived) {
    struct db_entry all = {.arrived_ns = db_map_global_ns(&state->clocks.map, arrived),
                           .slack_ns = state->rank == 0 ? db_slack_next(state->slack) : 0,
                           .lag_ns = mine->lag_ns,
                           .lateness_ns = mine->lateness_ns,
                           .invalid = mine->invalid,
                           .asks =
                               mine->stale || mine->contradicted || state->call.asks || db_waiting_asks(state, mine)};
    DB_TRY(db_exchange_entries(state, &all));
    *decision = (struct db_decision){.deadline_ns = all.arrived_ns + all.slack_ns,
                                     .slack_ns = all.slack_ns,
                                     .lateness_ns = all.lateness_ns,
                                     .tolerance_ns = state->thresholds.tolerance_ns,
                                     .invalid = all.invalid != 0,
                                     .settled = !all.asks};
    if (decision->settled && state->rank == 0)
        note_last(state, all.lag_ns, all.lateness_ns, all.arrived_ns);
    return MPI_SUCCESS;
}

/* `arrived`: a reading before this process reported. `together`: whether no process decided for the others. */
static int agree_on_deadline(struct db_state *state, struct db_decision *decision, int64_t *arrived, int *together) {
    *arrived = db_clock_read(&state->clocks.clock);
    const struct db_report mine = report_of(state, *arrived);
    *together = state->call.settled;
    if (*together) {
        DB_TRY(decide_together(state, &mine, decision, *arrived));
        *together = decision->settled;
    }
    if (!*together)
        DB_TRY(follow_process_0(state, &mine, decision, arrived));
    state->call.settled = decision->settled;
    return MPI_SUCCESS;
}

/* `caller`: code that goes on when this process leaves. */
static int harmonize(struct db_state *state, double delay, const void *caller, int *flag) {
    DB_TRY(db_state_settle(state));
    if (state->rank == 0) {
        pass_observation(state); /* if the last call left no time for it */
        db_slack_adapt(state->slack);
    }
    struct db_decision decision;
    int64_t arrived;
    int together;
    DB_TRY(agree_on_deadline(state, &decision, &arrived, &together));

    struct db_release release = db_release_at(state, decision.deadline_ns + (int64_t)llrint(delay * 1e9));
    int unsure = !db_schedule_calm(state, release.ticks) && db_schedule_unsure(state, release.ticks);
    state->call.verdict = state->counters.calls == 0 ? MPI_UNDEFINED : !decision.invalid;
    state->call.lateness_ns = decision.lateness_ns;
    state->counters.invalid_calls += state->counters.calls > 0 && decision.invalid;
    ++state->counters.calls;
    state->call.deadline_ns = decision.deadline_ns;
    state->call.slack_ns = decision.slack_ns;
    state->call.released = release.ticks;

    int64_t ready = db_clock_read(&state->clocks.clock);
    int64_t lag_ns = db_map_global_ns(&state->clocks.map, ready) - (decision.deadline_ns - decision.slack_ns);
    int late = ready > release.ticks;
    double disordered = db_contradiction_of_order(state, &decision, arrived, ready);
    if (disordered > 0.0 && !together) /* else the clock of the last one to come may be the wrong one */
        db_contradiction_note(state, disordered);
    state->call.asks = disordered > 0.0;
    unsure |= disordered > 0.0;
    if (disordered > 0.0 && together) /* do not wait for a clock that was set: there is no telling which */
        state->call.released = release.ticks = ready;
    state->counters.late_arrivals += late;
    state->call.lag_ns = lag_ns > 0 ? lag_ns : 0;

    if (state->rank == 0 && decision.slack_ns - lag_ns > OBSERVE_NS)
        pass_observation(state);
    const int before_wait = state->settings.slack->flag_before_wait;
    const struct db_verdict verdict = {.accepted = before_wait && !late, .refused = before_wait || late || unsure};
    int in_time = db_release_wait(state, ready, &release, &verdict, caller, &state->call, flag);
    if (!in_time || !*flag) {
        state->counters.late_exits += !before_wait && !in_time && !late;
        state->counters.unsure_clocks += !before_wait && unsure;
        state->counters.unflagged_exits += *flag && !in_time;
    }
    return MPI_SUCCESS;
}

int db_harmonize(struct db_state *state, double delay, int *flag) {
    return harmonize(state, delay, __builtin_return_address(0), flag);
}

int MPIX_Harmonize_delayed(MPI_Comm comm, double delay, int *flag) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize"));
    if (flag == NULL || !(delay >= 0.0 && delay <= MAX_DELAY_SECONDS))
        return db_raise(comm, MPI_ERR_ARG);
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = harmonize(state, delay, __builtin_return_address(0), flag);
    return code == MPI_SUCCESS ? MPI_SUCCESS : db_raise(comm, code);
}

int MPIX_Harmonize(MPI_Comm comm, int *flag) { return MPIX_Harmonize_delayed(comm, 0.0, flag); }

int MPIX_Harmonize_wait_until(MPI_Comm comm, double time, int *flag) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize_wait_until"));
    if (comm != MPI_COMM_NULL && (flag == NULL || !(fabs(time) <= MAX_DELAY_SECONDS)))
        return db_raise(comm, MPI_ERR_ARG);
    int code = db_state_find(comm, &state);
    if (code != MPI_SUCCESS)
        return db_raise(comm, code);
    struct db_release release = db_release_at(state, (int64_t)llrint(time * 1e9));
    int64_t ready = db_clock_read(&state->clocks.clock);
    const struct db_verdict verdict = {.refused = ready > release.ticks};
    struct db_call call;
    db_release_wait(state, ready, &release, &verdict, __builtin_return_address(0), &call, flag);
    return MPI_SUCCESS;
}
