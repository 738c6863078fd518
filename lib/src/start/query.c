/* Public functions that report on clocks, the last call, statistics and settings, and those that change settings or
 * synchronize the clocks. */
#include "start/clocks.h"
#include "start/prepare.h"
#include "sync/sync.h"

#include <downbeat/clock.h>

#define NS 1e-9 /* in seconds */

const char *Downbeat_version(void) { return DB_VERSION; }

/* Checks MPI and the output argument, and finds the state of comm. Calls the error handler on error. */
static int begin_query(MPI_Comm comm, const char *function, const void *answer, struct db_state **state) {
    DB_TRY(db_check_mpi(function));
    if (comm != MPI_COMM_NULL && answer == NULL)
        return db_raise(comm, MPI_ERR_ARG);
    return db_raise(comm, db_state_find(comm, state));
}

int MPIX_Harmonize_deadline(MPI_Comm comm, double *deadline) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_deadline", deadline, &state));
    if (state->counters.calls == 0) /* no deadline yet */
        return db_raise(comm, MPI_ERR_OTHER);
    *deadline = (double)state->call.deadline_ns * NS;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_verdict(MPI_Comm comm, int *verdict) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_verdict", verdict, &state));
    *verdict = state->call.verdict;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_time(MPI_Comm comm, double *time) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_time", time, &state));
    int64_t ticks = db_clock_read(&state->clocks.clock);
    *time = ((double)state->clocks.map.global_ns + db_map_elapsed_ns(&state->clocks.map, ticks)) * NS;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_error_bound(MPI_Comm comm, double *bound) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_error_bound", bound, &state));
    *bound = db_map_bound_ns(&state->clocks.map, db_clock_read(&state->clocks.clock)) * NS;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_expected_error(MPI_Comm comm, double *error) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_expected_error", error, &state));
    *error = db_map_expected_ns(&state->clocks.map, db_clock_read(&state->clocks.clock)) * NS;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_lateness(MPI_Comm comm, double *lateness) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_lateness", lateness, &state));
    if (state->counters.calls < 2) /* each call learns the lateness of the call before */
        return db_raise(comm, MPI_ERR_OTHER);
    *lateness = (double)state->call.lateness_ns * NS;
    return MPI_SUCCESS;
}

static int64_t read_clock(const void *clock) { return db_clock_read(clock); }

int Downbeat_get_clock(MPI_Comm comm, Downbeat_clock *clock) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "Downbeat_get_clock", clock, &state));
    *clock =
        (Downbeat_clock){.read = read_clock,
                         .clock = &state->clocks.clock,
                         .ticks = state->clocks.map.ticks,
                         .global = state->clocks.map.global_ns,
                         .tick = state->clocks.map.ns_per_tick,
                         .bound = state->clocks.map.bound_ns,
                         .growth = state->clocks.map.growth,
                         .ramp = state->clocks.map.ramp,
                         .variance = state->clocks.map.uncertainty.offset + state->clocks.map.uncertainty.asymmetry,
                         .cross = state->clocks.map.uncertainty.cross,
                         .rate = state->clocks.map.uncertainty.rate,
                         .walk = state->clocks.map.uncertainty.walk};
    return MPI_SUCCESS;
}

int Downbeat_get_edges(MPI_Comm comm, int capacity, Downbeat_edge *edges, int *count, double *scatter) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "Downbeat_get_edges", scatter, &state));
    if (count == NULL || capacity < 0 || (capacity > 0 && edges == NULL))
        return db_raise(comm, MPI_ERR_ARG);
    /* A hierarchical scheme has edges on each level, with ranks of that level, so it reports none. */
    int flat = db_is(&state->settings.sync.nodes[0], &db_sync_disciplined);
    const struct db_histories *histories = flat ? state->clocks.histories : NULL;
    *count = histories == NULL ? 0 : histories->edge_count;
    *scatter = *count == 0 ? 0.0 : histories->scatter_ns * NS;
    if (*count == 0)
        return MPI_SUCCESS;
    MPI_Group leaders = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int code = MPI_Comm_group(state->clocks.domain.leaders.comm, &leaders);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_group(state->channel.comm, &world);
    for (int i = 0; i < *count && i < capacity && code == MPI_SUCCESS; ++i) {
        const struct db_edge *edge = &histories->edges[i];
        edges[i].residual = edge->residual_ns * NS;
        code = MPI_Group_translate_ranks(leaders, 1, &edge->partner, world, &edges[i].partner);
    }
    if (leaders != MPI_GROUP_NULL)
        MPI_Group_free(&leaders);
    if (world != MPI_GROUP_NULL)
        MPI_Group_free(&world);
    return db_raise(comm, code);
}

int MPIX_Harmonize_get_stats(MPI_Comm comm, MPIX_Harmonize_stats *stats) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_get_stats", stats, &state));
    int64_t ticks = db_clock_read(&state->clocks.clock);
    double passed_ns = db_map_elapsed_ns(&state->clocks.local, ticks);
    *stats = (MPIX_Harmonize_stats){
        .calls = state->counters.calls,
        .late_arrivals = state->counters.late_arrivals,
        .late_exits = state->counters.late_exits,
        .unsure_clocks = state->counters.unsure_clocks,
        .contradictions = state->contradiction.count,
        .unflagged_exits = state->counters.unflagged_exits,
        .invalid_calls = state->counters.invalid_calls,
        .syncs = state->syncs.count,
        .sync_seconds = state->syncs.spent_ns * NS,
        .sync_share = passed_ns > 0.0 ? state->syncs.spent_ns / passed_ns : 0.0,
        .sync_messages = state->syncs.messages,
        .slack = (double)state->call.slack_ns * NS,
        .lag = (double)state->call.lag_ns * NS,
        .error_bound = db_map_bound_ns(&state->clocks.map, ticks) * NS,
        .expected_error = db_map_expected_ns(&state->clocks.map, ticks) * NS,
        .sync_error = state->syncs.last.deviation_ns * NS,
        .flag_error = state->thresholds.flag_error_ns * NS,
        .tolerance = (double)state->thresholds.tolerance_ns * NS,
        .clock_domains = state->clocks.domain.count,
        .memory_domains =
            state->transport.kind == DB_TRANSPORT_MESSAGES ? state->size : state->transport.neighbors.nodes,
        .oversubscribed = state->waiting.oversubscribed,
    };
    return MPI_SUCCESS;
}

int MPIX_Harmonize_get_info(MPI_Comm comm, MPI_Info *info_used) {
    struct db_state *state;
    DB_TRY(begin_query(comm, "MPIX_Harmonize_get_info", info_used, &state));
    return db_raise(comm, db_settings_to_info(&state->settings, info_used));
}

int MPIX_Harmonize_sync(MPI_Comm comm) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize_sync"));
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = db_state_barrier(state);
    if (code == MPI_SUCCESS)
        code = db_clocks_synchronize(state);
    return db_raise(comm, code);
}

/* Applies the keys of `info` if they are valid and equal on all processes. */
static int change_settings(struct db_state *state, MPI_Info info) {
    struct db_offer offer = {.settings = state->settings};
    struct db_reason reason = {""};
    int code = db_settings_from_info(&offer.settings, info, &reason);
    DB_TRY(db_state_agree(state->channel.comm, &offer, code, &reason));
    return db_state_configure(state, &offer);
}

int MPIX_Harmonize_set_info(MPI_Comm comm, MPI_Info info) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize_set_info"));
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = db_state_barrier(state);
    if (code == MPI_SUCCESS)
        code = change_settings(state, info);
    return db_raise(comm, code);
}
