/* MPIX_Harmonize and MPIX_Harmonize_delayed: agree on a deadline, wait for it, report whether it was met. */
#include "start/harmonize.h"

#include "clock/wait.h"
#include "start/clocks.h"
#include "start/decision.h"
#include "start/schedule.h"

#include <math.h>
#include <stddef.h>

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

/* A difference in frequency and the rank that saw it in one number, so that the maximum has both: 1.5 ppm at rank 3 is
 * 1500 ppb << 24 | 3, more than 1499 ppb at any rank. */
#define RANK_BITS 24
#define MOST_PPB ((double)((int64_t)1 << (62 - RANK_BITS)))

static int64_t contradiction(double difference, int rank) {
    return (int64_t)fmin(MOST_PPB, ceil(difference * 1e9)) << RANK_BITS | rank;
}

static void tell_contradiction(struct db_state *state, int64_t contradicted) {
    struct db_reason reason;
    if (contradicted == 0 || state->root.told)
        return;
    state->root.told = 1;
    db_explain(&reason, MPI_ERR_OTHER,
               "the clock of rank %d moved against the others as if its frequency were off by %.3g ppm, which max_skew "
               "(%g ppm) and max_wander (%g ppm) exclude: it was set, it stepped, or its frequency is off or has "
               "changed; starts have flag 0 until it is known again; if that happens again, raise max_skew or choose "
               "another clock",
               (int)(contradicted & (((int64_t)1 << RANK_BITS) - 1)), (double)(contradicted >> RANK_BITS) * 1e-3,
               state->settings.max_skew * 1e6, state->settings.max_wander * 1e6);
    db_tell(reason.text);
}

/* So many synchronizations in a row have not helped: none will. */
#define HOPELESS_SYNCS 16

/* Says what the clocks of this network can be known to, once. */
static void tell_unknown(struct db_state *state, double error_ns) {
    struct db_reason reason;
    if (state->root.unknown < HOPELESS_SYNCS || state->root.unknown_told || state->thresholds.flag_error_ns <= 0.0)
        return;
    state->root.unknown_told = 1;
    double tolerance_ns = (double)state->thresholds.tolerance_ns;
    double needed_ns = tolerance_ns * error_ns / state->thresholds.flag_error_ns;
    db_explain(&reason, MPI_ERR_OTHER,
               "the paths between these clocks vary so much that they are known to %.2g us, and a tolerance of %.2g us "
               "asks for %.2g us; many starts have flag 0: set tolerance to auto, or to %.1e or more, or flag_error",
               error_ns * 1e-3, tolerance_ns * 1e-3, state->thresholds.flag_error_ns * 1e-3, 1.5 * needed_ns * 1e-9);
    db_tell(reason.text);
}

/* An automatic tolerance doubles, once or several times, after so many synchronizations in a row that leave a larger
 * expected error than it asks for, and halves after so many that would leave a smaller one still. */
#define WIDENING_SYNCS 8
#define NARROWING_SYNCS 16
#define MARGIN 0.8
#define MOST_TOLERANCE_NS 1e9

/* Returns the tolerance from now on. `error_ns`: the largest expected error directly after the last synchronization. */
static int64_t judge_error(struct db_state *state, double error_ns) {
    struct db_root *root = &state->root;
    double asked_ns = state->thresholds.flag_error_ns;
    int64_t tolerance_ns = state->thresholds.tolerance_ns;
    if (state->settings.flag_error_ns > 0.0)
        return tolerance_ns;
    root->least_ns = root->unknown == 0 ? error_ns : fmin(root->least_ns, error_ns);
    root->unknown = error_ns > asked_ns ? root->unknown + 1 : 0;
    root->known = error_ns < MARGIN * asked_ns / 2.0 ? root->known + 1 : 0;
    if (state->settings.tolerance_ns != DB_TOLERANCE_AUTO) {
        tell_unknown(state, error_ns);
        return tolerance_ns;
    }
    if (root->unknown >= WIDENING_SYNCS) {
        root->unknown = 0;
        while (root->least_ns > asked_ns && (double)tolerance_ns < MOST_TOLERANCE_NS) {
            asked_ns *= 2.0;
            tolerance_ns *= 2;
        }
    } else if (root->known >= NARROWING_SYNCS && tolerance_ns > DB_DEFAULT_TOLERANCE_NS) {
        root->known = 0;
        tolerance_ns /= 2;
    }
    return tolerance_ns;
}

static struct db_report report_of(struct db_state *state, int64_t arrived) {
    double late_ns = (double)(state->call.left - state->call.released) * state->clocks.map.ns_per_tick;
    double contradicted = db_clocks_take_contradiction(state);
    return (struct db_report){
        .lag_ns = state->call.lag_ns,
        .lateness_ns = late_ns > 0.0 ? (int64_t)late_ns : 0,
        .invalid = state->call.invalid,
        .stale = db_schedule_calm(state, arrived) ? 0 : db_schedule_wants(state),
        .error_ns = state->syncs.last.deviation_ns < 1e18 ? (int64_t)state->syncs.last.deviation_ns : (int64_t)1e18,
        .contradicted = contradicted > 0.0 ? contradiction(contradicted, state->rank) : 0};
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
        tell_contradiction(state, all.contradicted);
        if (all.contradicted != 0)
            db_schedule_begin_again(state);
        int missed = db_slack_judge(state->slack, all.invalid != 0);
        if (missed || (all.stale && db_schedule_allows(state, (int)all.stale)))
            decision->synchronize = db_schedule_depth(state);
        decision->settled = settles(state, decision, &all);
        if (decision->synchronize)
            decision->tolerance_ns = judge_error(state, (double)all.error_ns);
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

/* A decision comes after all have arrived and before any is ready. Where this process's clock says otherwise, returns a
 * difference in frequency, relative, that explains it; else 0. A clock that steps shows here at once, if by more than
 * messages take. */
static double disorder(const struct db_state *state, const struct db_decision *decision, int64_t arrived,
                       int64_t ready) {
    const struct db_clock_map *map = &state->clocks.map;
    int64_t decided_ns = decision->deadline_ns - decision->slack_ns;
    int64_t early_ns = decided_ns - db_map_global_ns(map, ready);
    int64_t ahead_ns = db_map_global_ns(map, arrived) - decided_ns;
    double off_ns = (double)(early_ns > ahead_ns ? early_ns : ahead_ns);
    if (off_ns <= 0.0)
        return 0.0;
    double likely_ns = (double)state->thresholds.tolerance_ns + 4.0 * db_map_expected_ns(map, ready);
    double allowed_ns =
        fmin(db_map_bound_ns(map, ready), likely_ns) + state->clocks.clock.resolution_ns + DB_ROUNDING_NS;
    return off_ns > allowed_ns ? off_ns / fmax(1.0, db_map_elapsed_ns(map, ready)) : 0.0;
}

/* When a process may leave, and when it is too late. */
struct release {
    int64_t ticks;
    int64_t latest;
};

static struct release release_at(const struct db_state *state, int64_t global_ns) {
    return (struct release){.ticks = db_map_ticks(&state->clocks.map, global_ns),
                            .latest = db_map_ticks(&state->clocks.map, global_ns + state->thresholds.tolerance_ns)};
}

/* What the flag says, but for whether the process leaves in time. */
struct verdict {
    int accepted; /* whenever it leaves */
    int refused;
};

/* A wait is long enough for all that follows it to leave the caches, where other programs share them: the way out takes
 * up to a microsecond then. So a process goes it once shortly before it leaves. */
#define REHEARSED_NS 3000.0
#define LEAST_REHEARSED_NS 1000.0

/* When to do so; 0: there is no time for it. */
static int64_t rehearsal(const struct db_clock *clock, const struct release *release, int64_t ready) {
    double rest_ns = (double)(release->ticks - ready) * clock->ns_per_tick;
    if (clock->simulated || rest_ns < LEAST_REHEARSED_NS)
        return 0;
    return release->ticks - (int64_t)(fmin(rest_ns, REHEARSED_NS) / clock->ns_per_tick);
}

/* Reads ahead a function's code, and its frame. */
static void prefetch(const char *code, const char *frame) {
    for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(code + (ptrdiff_t)64 * i);
        __builtin_prefetch(frame + (ptrdiff_t)64 * i);
    }
}

/* Waits, and returns whether the process left in time. Do as little as possible from the last reading to the return,
 * and touch nothing that the rehearsal has not touched: the kernel may take the processor away at any moment, and a
 * delay after the last reading goes unnoticed. */
static int leave(const struct db_state *state, int64_t now, const struct release *release,
                 const struct verdict *verdict, int64_t rehearsed, const void *caller, struct db_call *call,
                 int *flag) {
    const struct verdict given = *verdict;
    int64_t until = rehearsed != 0 ? rehearsed : release->ticks;
    int in_time;
    for (;;) {
        int64_t left = db_wait_until(&state->clocks.clock, now, until, state->waiting.patience);
        in_time = left <= release->latest && left >= release->ticks; /* a clock may be set back meanwhile */
        *flag = given.accepted | (in_time & !given.refused);
        call->left = left;
        call->invalid = !*flag;
        if (until == release->ticks || left < until) /* set back by now: it is not waited for again */
            return in_time;
        until = release->ticks;
        now = left;
        prefetch(caller, __builtin_frame_address(0));
    }
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

    struct release release = release_at(state, decision.deadline_ns + (int64_t)llrint(delay * 1e9));
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
    double disordered = disorder(state, &decision, arrived, ready);
    if (disordered > 0.0 && !together) /* else the clock of the last one to come may be the wrong one */
        db_clocks_contradict(state, disordered);
    state->call.asks = disordered > 0.0;
    unsure |= disordered > 0.0;
    if (disordered > 0.0 && together) /* do not wait for a clock that was set: there is no telling which */
        state->call.released = release.ticks = ready;
    state->counters.late_arrivals += late;
    state->call.lag_ns = lag_ns > 0 ? lag_ns : 0;

    if (state->rank == 0 && decision.slack_ns - lag_ns > OBSERVE_NS)
        pass_observation(state);
    const int before_wait = state->settings.slack->flag_before_wait;
    const struct verdict verdict = {.accepted = before_wait && !late, .refused = before_wait || late || unsure};
    int in_time = leave(state, ready, &release, &verdict, rehearsal(&state->clocks.clock, &release, ready), caller,
                        &state->call, flag);
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
    struct release release = release_at(state, (int64_t)llrint(time * 1e9));
    int64_t ready = db_clock_read(&state->clocks.clock);
    const struct verdict verdict = {.refused = ready > release.ticks};
    struct db_call call;
    leave(state, ready, &release, &verdict, rehearsal(&state->clocks.clock, &release, ready),
          __builtin_return_address(0), &call, flag);
    return MPI_SUCCESS;
}
