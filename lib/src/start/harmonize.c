/* MPIX_Harmonize and MPIX_Harmonize_delayed: agree on a deadline (protocol.h), wait for it, set the flag. The functions
 * exchange, decide and synchronize implement the phases of the protocol. Lag: time from the decision until a process is
 * ready to wait. Lateness: time from its deadline plus delay until it left. */
#include "start/harmonize.h"

#include "start/clocks.h"
#include "start/contradiction.h"
#include "start/prepare.h"
#include "start/release.h"
#include "start/schedule.h"
#include "start/tolerance.h"

#include <math.h>

/* Maximum delay, and largest absolute time of MPIX_Harmonize_wait_until: about 95 years. int64_t holds 292 years in ns.
 */
#define MAX_DELAY_SECONDS 3e9

/* Process 0 passes an observation to the slack controller during the wait if at least this time remains, else at the
 * next arrival. That takes some 20 ns with warm caches (slack.h), several times as long with cold ones. Chosen by hand;
 * with half or twice the value, observations wait for the next arrival a little less or more often. */
#define OBSERVE_NS 100

/* On process 0: passes the observation of the previous call to the slack controller. */
static void pass_observation(struct db_state *state) {
    if (state->root.observation.slack_ns == 0)
        return;
    db_slack_observe(state->slack, &state->root.observation);
    state->root.observation.slack_ns = 0;
}

/* On process 0: stores the observation of the last call, and `now`, the time of this call's decision. */
static void store_observation(struct db_state *state, int64_t lag_ns, int64_t lateness_ns, int64_t now) {
    if (state->counters.calls > 0)
        state->root.observation = (struct db_slack_call){.lag_ns = lag_ns,
                                                         .slack_ns = state->call.slack_ns,
                                                         .base_ns = now - state->root.decided_ns - state->call.slack_ns,
                                                         .late = lag_ns <= state->call.slack_ns &&
                                                                 lateness_ns > state->thresholds.tolerance_ns};
    state->root.decided_ns = now;
}

/* On process 0: sets deadline and slack of the decision. `reports` are the maxima of all reports on the last call. */
static void set_deadline(struct db_state *state, const struct db_report *reports, struct db_decision *decision) {
    decision->slack_ns = db_slack_next(state->slack);
    int64_t now = db_map_global_ns(&state->clocks.map, db_clock_read(&state->clocks.clock));
    decision->deadline_ns = now + decision->slack_ns;
    store_observation(state, reports->lag_ns, reports->lateness_ns, now);
}

/* State of a call up to DB_WAIT. */
struct start {
    int64_t arrived; /* reading at this process's arrival or, if clocks were synchronized, after the synchronization */
    struct db_report local; /* this process's report */
    struct db_decision decision;
    enum db_phase decided_in; /* DB_EXCHANGE, or DB_DECIDE */
    int synchronized;         /* 1 if clocks were synchronized in this call */
};

/* Returns this process's report on its last call, and its requests at the reading `arrived`. */
static struct db_report report_of(struct db_state *state, int64_t arrived) {
    double late_ns = (double)(state->call.exit_ticks - state->call.due_ticks) * state->clocks.map.ns_per_tick;
    return (struct db_report){
        .lag_ns = state->call.lag_ns,
        .lateness_ns = late_ns > 0.0 ? (int64_t)late_ns : 0,
        .invalid = state->call.invalid,
        .due = db_schedule_due(state, arrived),
        .error_ns = state->syncs.last.deviation_ns < 1e18 ? (int64_t)state->syncs.last.deviation_ns : (int64_t)1e18,
        .contradiction = db_contradiction_take(state)};
}

/* DB_EXCHANGE: all processes compute the same deadline, the last arrival plus the slack, after one exchange. Alg. 1 of
 * Schuchart 2023 needs a reduction and a broadcast instead. */
static int exchange(struct db_state *state, struct start *start, int *needs) {
    const struct db_report *local = &start->local;
    struct db_entry maxima = {.arrived_ns = db_map_global_ns(&state->clocks.map, start->arrived),
                              .slack_ns = state->rank == 0 ? db_slack_next(state->slack) : 0,
                              .lag_ns = local->lag_ns,
                              .lateness_ns = local->lateness_ns,
                              .invalid = local->invalid,
                              .needs = (local->due || local->contradiction ? DB_NEED_SYNC : 0) |
                                       (state->call.disordered ? DB_NEED_ORDER : 0) | db_waiting_need(state, local)};
    DB_TRY(db_exchange_entries(state, &maxima));
    *needs = (int)maxima.needs;
    start->decision = (struct db_decision){.deadline_ns = maxima.arrived_ns + maxima.slack_ns,
                                           .slack_ns = maxima.slack_ns,
                                           .lateness_ns = maxima.lateness_ns,
                                           .tolerance_ns = state->thresholds.tolerance_ns,
                                           .invalid = maxima.invalid != 0};
    if (!maxima.needs && state->rank == 0)
        store_observation(state, maxima.lag_ns, maxima.lateness_ns, maxima.arrived_ns);
    return MPI_SUCCESS;
}

/* Returns the needs (enum db_need) of the next call that are known already. `synchronize`: 1 if clocks are synchronized
 * in this call. */
static int open_needs(const struct db_state *state, const struct db_report *reports, int synchronize) {
    return (state->transport.kind == DB_TRANSPORT_MESSAGES ? DB_NEED_LINES : 0) |
           (state->settings.slack->judge != NULL ? DB_NEED_SLACK : 0) |
           (reports->due && !synchronize ? DB_NEED_SYNC : 0) | db_waiting_need(state, reports);
}

/* On process 0, first decision of a call: decides whether clocks are synchronized before the deadline (Schuchart 2023,
 * Alg. 1). */
static void decide_first(struct db_state *state, const struct db_report *reports, struct db_decision *decision) {
    *decision = (struct db_decision){.lateness_ns = reports->lateness_ns,
                                     .tolerance_ns = state->thresholds.tolerance_ns,
                                     .invalid = reports->invalid != 0,
                                     .patience = (int32_t)db_waiting_next(state, reports)};
    db_contradiction_print(state, reports->contradiction);
    if (reports->contradiction != 0)
        db_schedule_begin_again(state);
    int missed = db_slack_judge(state->slack, reports->invalid != 0);
    if (missed || (reports->due && db_schedule_allows(state, (enum db_due)reports->due)))
        decision->synchronize = db_schedule_depth(state);
    decision->needs = open_needs(state, reports, decision->synchronize);
    if (decision->synchronize)
        decision->tolerance_ns = db_tolerance_next(state, (double)reports->error_ns);
}

/* DB_DECIDE: process 0 broadcasts a deadline, or that clocks are synchronized first. `reports`: on process 0, the
 * maxima of all reports. */
static int decide(struct db_state *state, const struct db_report *reports, struct start *start, int *needs) {
    struct db_decision *decision = &start->decision;
    if (state->rank == 0) {
        if (start->synchronized)
            decision->synchronize = 0;
        else
            decide_first(state, reports, decision);
        if (!decision->synchronize)
            set_deadline(state, reports, decision);
    }
    DB_TRY(db_spread_decision(state, decision));
    if (decision->tolerance_ns != state->thresholds.tolerance_ns)
        db_state_update_thresholds(state, decision->tolerance_ns);
    *needs = decision->synchronize ? DB_NEED_SYNC : 0;
    return MPI_SUCCESS;
}

/* DB_SYNCHRONIZE: synchronizes the clocks. Processes finish at different times, so they report again before process 0
 * sets the deadline. */
static int synchronize(struct db_state *state, struct start *start) {
    DB_TRY(db_clocks_synchronize_due(state, start->decision.synchronize));
    start->synchronized = 1;
    start->arrived = db_clock_read(&state->clocks.clock);
    return MPI_SUCCESS;
}

/* Runs the phases up to DB_WAIT. */
static int agree_on_deadline(struct db_state *state, struct start *start) {
    start->arrived = db_clock_read(&state->clocks.clock);
    start->local = report_of(state, start->arrived);
    start->synchronized = 0;
    struct db_report reports = {0};
    enum db_phase phase = db_phase_after(DB_RELEASED, state->call.needs);
    while (phase != DB_WAIT) {
        int needs = 0;
        start->decided_in = phase;
        if (phase == DB_EXCHANGE)
            DB_TRY(exchange(state, start, &needs));
        else if (phase == DB_GATHER)
            DB_TRY(db_gather_reports(state, &start->local, &reports));
        else if (phase == DB_DECIDE)
            DB_TRY(decide(state, &reports, start, &needs));
        else
            DB_TRY(synchronize(state, start));
        phase = db_phase_after(phase, needs);
    }
    state->call.needs = start->decision.needs;
    return MPI_SUCCESS;
}

/* MPIX_Harmonize_delayed with a state. `caller` is the address of the code that runs after the return, for prefetching.
 */
static int harmonize(struct db_state *state, double delay, const void *caller, int *flag) {
    DB_TRY(db_state_choose_transport(state));
    if (state->rank == 0) {
        pass_observation(state); /* if there was no time for it in the last wait */
        db_slack_adapt(state->slack);
    }
    struct start start;
    DB_TRY(agree_on_deadline(state, &start));
    const struct db_decision *decision = &start.decision;

    struct db_release release = db_release_at(state, decision->deadline_ns + (int64_t)llrint(delay * 1e9));
    int unsure = db_schedule_unsure(state, release.ticks);
    state->call.verdict = state->counters.calls == 0 ? MPI_UNDEFINED : !decision->invalid;
    state->call.lateness_ns = decision->lateness_ns;
    state->counters.invalid_calls += state->counters.calls > 0 && decision->invalid;
    ++state->counters.calls;
    state->call.deadline_ns = decision->deadline_ns;
    state->call.slack_ns = decision->slack_ns;

    int64_t ready = db_clock_read(&state->clocks.clock);
    int64_t lag_ns = db_map_global_ns(&state->clocks.map, ready) - (decision->deadline_ns - decision->slack_ns);
    int late = ready > release.ticks;
    double contradiction = db_contradiction_of_order(state, decision, start.arrived, ready);
    state->call.disordered = contradiction > 0.0;
    if (contradiction > 0.0) {
        unsure = 1;
        if (start.decided_in == DB_EXCHANGE)
            release.ticks = ready; /* A clock was stepped, possibly that of the last process to arrive, so the deadline
                                      is meaningless: leave at once. */
        else
            db_contradiction_record(state, contradiction);
    }
    state->call.due_ticks = release.ticks;
    state->counters.late_arrivals += late;
    state->call.lag_ns = lag_ns > 0 ? lag_ns : 0;

    if (state->rank == 0 && decision->slack_ns - lag_ns > OBSERVE_NS)
        pass_observation(state);
    const int before_wait = state->settings.slack->flag_before_wait;
    const struct db_verdict verdict = db_verdict_of(before_wait, late, unsure);
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
    const struct db_verdict verdict = db_verdict_of(0, ready > release.ticks, 0);
    struct db_call call;
    db_release_wait(state, ready, &release, &verdict, __builtin_return_address(0), &call, flag);
    return MPI_SUCCESS;
}
