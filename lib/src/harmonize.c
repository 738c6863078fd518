/* MPIX_Harmonize and MPIX_Harmonize_delayed: agree on a deadline, wait for it, report whether it was met. */
#include "harmonize.h"

#include "agree.h"
#include "wait.h"

#include <math.h>

/* A century of delay is a mistake, and would overflow. */
#define MAX_DELAY_SECONDS 3e9

/* Whether this process's clock needs a synchronization: because of its age, or because drift has raised the error bound
 * above the limit. If the bound was wide from the beginning, a new synchronization pays only after the bound has
 * doubled. */
static int stale(const struct db_state *state) {
    int64_t ticks = db_clock_read(&state->clock);
    if (db_map_elapsed_ns(&state->map, ticks) > state->max_age_ns)
        return 1;
    double limit_ns = fmax(state->settings.max_error_ns, 2.0 * state->map.bound_ns);
    return state->settings.slack->age_ns == 0.0 && db_map_bound_ns(&state->map, ticks) > limit_ns;
}

/* Longest time to record a call, ns: if the slack leaves that much time, recording is free. */
#define OBSERVE_NS 250

/* Process 0 gives the slack controller its observations of the previous call. */
static void observe(struct db_state *state) {
    if (!state->observation.known)
        return;
    state->observation.known = 0;
    db_slack_observe(&state->slack, state->observation.lag_ns, state->observation.given_ns, state->observation.rest_ns);
}

/* Process 0 sets the deadline. `lag_ns` is the largest lag of the last call. */
static void decide(struct db_state *state, int64_t lag_ns, struct db_decision *decision) {
    decision->slack_ns = db_slack_next(&state->slack);
    int64_t now = db_map_global_ns(&state->map, db_clock_read(&state->clock));
    decision->deadline_ns = now + decision->slack_ns;
    if (state->calls > 0) {
        state->observation.known = 1;
        state->observation.lag_ns = lag_ns;
        state->observation.given_ns = state->slack_ns;
        state->observation.rest_ns = now - state->decided_ns - state->slack_ns;
    }
    state->decided_ns = now;
}

/* All processes agree on a deadline; clocks are synchronized first where any needs it (Schuchart 2023, Alg. 1). */
static int agree(struct db_state *state, struct db_decision *decision) {
    struct db_report all = {0};
    struct db_report mine = {.lag_ns = state->lag_ns, .invalid = state->invalid, .stale = stale(state)};
    DB_TRY(db_gather_reports(&state->channel, &mine, &all));
    *decision = (struct db_decision){.invalid = all.invalid, .synchronize = all.stale};
    if (state->rank == 0 && db_slack_judge(&state->slack, all.invalid != 0))
        decision->synchronize = 1;
    if (state->rank == 0 && !decision->synchronize)
        decide(state, all.lag_ns, decision);
    DB_TRY(db_spread_decision(&state->channel, decision));
    if (!decision->synchronize)
        return MPI_SUCCESS;

    DB_TRY(db_state_synchronize(state));
    /* Processes leave the synchronization one after another: gather them before the deadline is set. */
    struct db_report nothing = {0};
    struct db_report ready;
    DB_TRY(db_gather_reports(&state->channel, &nothing, &ready));
    if (state->rank == 0)
        decide(state, all.lag_ns, decision);
    return db_spread_decision(&state->channel, decision);
}

/* When a process may leave, and when it is too late. */
struct release {
    int64_t ticks;
    int64_t latest;
};

static struct release release_at(const struct db_state *state, int64_t global_ns) {
    return (struct release){.ticks = db_map_ticks(&state->map, global_ns),
                            .latest = db_map_ticks(&state->map, global_ns + state->settings.tolerance_ns)};
}

/* Waits, and returns whether the process left in time. `late`: it arrived too late already. Do as little as possible
 * from here to the return: the kernel may take the processor away at any moment, and a delay after the last clock
 * reading goes unnoticed. */
static int leave_in_time(const struct db_state *state, const struct release *release, int late) {
    int64_t left = db_wait_until(&state->clock, release->ticks, state->oversubscribed);
    return !late && left <= release->latest;
}

int db_harmonize(struct db_state *state, double delay, int *flag) {
    if (state->rank == 0) {
        observe(state); /* if the last call left no time for it */
        db_slack_adapt(&state->slack);
    }
    struct db_decision decision;
    DB_TRY(agree(state, &decision));

    struct release release = release_at(state, decision.deadline_ns + (int64_t)llrint(delay * 1e9));
    int64_t ready = db_clock_read(&state->clock);
    int64_t lag_ns = db_map_global_ns(&state->map, ready) - (decision.deadline_ns - decision.slack_ns);
    int late = ready > release.ticks;

    state->verdict = state->calls == 0 ? MPI_UNDEFINED : !decision.invalid;
    state->invalid_calls += state->calls > 0 && decision.invalid;
    ++state->calls;
    state->late_arrivals += late;
    state->deadline_ns = decision.deadline_ns;
    state->slack_ns = decision.slack_ns;
    state->lag_ns = lag_ns > 0 ? lag_ns : 0;

    if (state->rank == 0 && decision.slack_ns - lag_ns > OBSERVE_NS)
        observe(state);
    int in_time = leave_in_time(state, &release, late);
    *flag = state->settings.slack->flag_before_wait ? !late : in_time;
    state->invalid = !*flag;
    state->late_exits += !*flag && !late;
    state->unflagged_exits += *flag && !in_time;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_delayed(MPI_Comm comm, double delay, int *flag) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize"));
    if (flag == NULL || !(delay >= 0.0 && delay <= MAX_DELAY_SECONDS))
        return db_raise(comm, MPI_ERR_ARG);
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = db_harmonize(state, delay, flag);
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
    struct release release = release_at(state, (int64_t)llrint(time * 1e9));
    *flag = leave_in_time(state, &release, db_clock_read(&state->clock) > release.ticks);
    return MPI_SUCCESS;
}
