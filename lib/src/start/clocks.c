/* The clocks of a communicator (clocks.h): opening them, dividing the processes by clock, and synchronizing them by the
 * scheme of the setting `sync`. */
#include "start/clocks.h"

#include "start/contradiction.h"
#include "start/process_clock.h"
#include "start/schedule.h"

#include <stdlib.h>
#include <string.h>

/* The synchronization scheme that the settings choose. */
static const struct db_sync_type *scheme_of(const struct db_settings *settings) {
    return (const struct db_sync_type *)settings->sync.nodes[0].component;
}

int db_clocks_refusable(const struct db_settings *settings) { return scheme_of(settings)->refusing; }

/* Limits of the difference between two clocks (drift.h). Frequencies differ by the skew of the oscillators and by the
 * calibration errors of both sides, which are assumed equal. */
static struct db_limits limits_of(const struct db_settings *settings, double rate_error) {
    return (struct db_limits){
        .skew = settings->max_skew + 2.0 * rate_error, .wander = settings->max_wander, .ramp = DB_MAX_RAMP * 1e-9};
}

/* Synchronizes the leaders of the domains, from the reading `begin`, at which the global clock shows `global_ns`. Sets
 * `contradicted` to the difference in frequency that explains offsets outside the limits, relative; 0: none. */
static int synchronize_leaders(struct db_state *state, int64_t begin, int64_t global_ns, struct db_reason *reason,
                               double *contradicted) {
    struct db_clocks *clocks = &state->clocks;
    struct db_sync_group group = {
        .channel = clocks->domain.leaders,
        .rank = clocks->domain.leader_rank,
        .size = clocks->domain.count,
        .clock = &clocks->clock,
        .local = {.ticks = begin, .ns_per_tick = clocks->clock.ns_per_tick},
        .limits = limits_of(&state->settings, clocks->clock.rate_error),
        .lasting = clocks->local,
        .lasting_limits = limits_of(&state->settings, clocks->local_rate_error),
        .depth = state->syncs.depth,
        .histories = clocks->histories,
        .pairs = clocks->pairs,
        .reason = reason,
        .contradicted = contradicted,
        .levels = &clocks->levels,
    };
    if (group.rank == 0)
        clocks->map = (struct db_clock_map){.version = clocks->map.version,
                                            .ticks = begin,
                                            .global_ns = global_ns,
                                            .ns_per_tick = clocks->clock.ns_per_tick};
    return db_sync_run(&state->settings.sync.nodes[0], &group, &clocks->map);
}

int db_clocks_synchronize(struct db_state *state) {
    struct db_clock *clock = &state->clocks.clock;
    struct db_clock_map *map = &state->clocks.map;
    const struct db_domain *domain = &state->clocks.domain;
    struct db_synchronizations *syncs = &state->syncs;
    const struct db_clock_map before = *map;
    double contradicted = 0.0;
    int64_t begin = db_clock_read(clock);
    long long messages = state->messages;

    /* A refined rate takes effect only here, from `begin` on, so that the global clock does not jump. */
    int64_t global_ns = db_map_global_ns(map, begin);
    if (clock->type->refine != NULL)
        clock->type->refine(clock);

    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    if (domain->leaders.comm != MPI_COMM_NULL)
        code = synchronize_leaders(state, begin, global_ns, &reason, &contradicted);
    if (db_clocks_refusable(&state->settings))
        code = db_agree_on_error(state->channel.comm, code, &reason);
    DB_TRY(code);
    if (domain->members.comm != MPI_COMM_NULL) {
        /* The members of a domain read the same clock, so they use the leader's map. */
        DB_TRY(db_broadcast(&domain->members, (int64_t *)map, sizeof *map / sizeof(int64_t)));
        map->bound_ns += domain->bound_ns;
    }
    map->version = before.version + 1;
    if (syncs->last.ticks != 0) /* there is an earlier synchronization of the same clocks to compare with */
        contradicted = fmax(contradicted, db_contradiction_of_maps(&before, map, db_clock_read(clock)));
    db_contradiction_resolve(state, contradicted);
    ++syncs->count;
    syncs->messages += state->messages - messages;
    syncs->last.ticks = db_clock_read(clock);
    syncs->last.bound_ns = db_map_bound_ns(map, syncs->last.ticks);
    syncs->last.deviation_ns = db_map_deviation_ns(map, syncs->last.ticks);
    syncs->last.previous_duration_ns = syncs->last.duration_ns;
    syncs->last.duration_ns = (double)(syncs->last.ticks - begin) * clock->ns_per_tick;
    syncs->spent_ns += syncs->last.duration_ns;
    db_schedule_invalidate(state);
    return MPI_SUCCESS;
}

int db_clocks_synchronize_due(struct db_state *state, int depth) {
    double spent_ns = state->syncs.spent_ns;
    if (state->syncs.depth != depth) /* another tree: its duration is not comparable (db_schedule_depth) */
        state->syncs.last.duration_ns = 0.0;
    state->syncs.depth = depth;
    DB_TRY(db_clocks_synchronize(state));
    state->syncs.automatic_ns += state->syncs.spent_ns - spent_ns;
    return MPI_SUCCESS;
}

/* Wraps the clock in a validation clock if the setting is on. Collective. */
static int wrap_clock(const struct db_state *state, struct db_offer *offer) {
    struct db_clock *clock = &offer->clock;
    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    if (!offer->settings.validation.enabled)
        return MPI_SUCCESS;

    /* True time must be the same function of the shared counter on all processes: process 0's. */
    int64_t origin = db_clock_read(clock);
    double ns_per_tick = clock->ns_per_tick;
    DB_TRY(MPI_Bcast(&origin, 1, MPI_INT64_T, 0, state->channel.comm));
    DB_TRY(MPI_Bcast(&ns_per_tick, 1, MPI_DOUBLE, 0, state->channel.comm));
    if (db_validation_wrap(clock, &offer->settings.validation, state->rank, origin, ns_per_tick) != 0)
        code = db_explain(&reason, MPI_ERR_NO_MEM, "out of memory");
    return db_agree_on_error(state->channel.comm, code, &reason);
}

/* Returns the map from the new local clock to the global clock. The global clock continues; the first one starts at 0
 * (map version 0: no clock yet). */
static struct db_clock_map continued_map(const struct db_clocks *clocks, const struct db_clock *clock) {
    if (clocks->map.version == 0)
        return (struct db_clock_map){.ticks = db_clock_read(clock), .ns_per_tick = clock->ns_per_tick};
    struct db_clock_pair now = db_clock_read_pair(&clocks->clock, clock);
    return (struct db_clock_map){.version = clocks->map.version,
                                 .ticks = now.inner,
                                 .global_ns = db_map_global_ns(&clocks->map, now.outer),
                                 .ns_per_tick = clock->ns_per_tick};
}

int db_clocks_change(struct db_state *state, struct db_offer *offer) {
    struct db_clocks *clocks = &state->clocks;
    struct db_domain domain = {0};
    int code = wrap_clock(state, offer);
    if (code == MPI_SUCCESS)
        code = db_domain_find(&domain, &state->channel, offer);
    if (code == MPI_SUCCESS)
        code = db_process_clock_set_domain(&offer->clock);
    if (code != MPI_SUCCESS) {
        db_domain_free(&domain);
        db_clock_close(&offer->clock);
        return code;
    }
    const struct db_clock clock = offer->clock;
    clocks->map = continued_map(clocks, &clock);
    db_domain_free(&clocks->domain);
    db_clock_close(&clocks->clock);
    clocks->domain = domain;
    clocks->clock = clock;
    clocks->local = (struct db_clock_map){.ticks = clocks->map.ticks, .ns_per_tick = clock.ns_per_tick};
    clocks->local_rate_error = clock.rate_error;
    return MPI_SUCCESS;
}

/* Resets the histories of comparisons with other clocks, for `levels` levels of the scheme. Collective. */
static int reset_histories(struct db_state *state, size_t levels) {
    struct db_clocks *clocks = &state->clocks;
    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    free(clocks->histories);
    clocks->histories = NULL;
    if (clocks->domain.count == 1)
        return MPI_SUCCESS;
    if (clocks->domain.leaders.comm != MPI_COMM_NULL) {
        clocks->histories = calloc(levels, sizeof *clocks->histories + DB_MAX_PAIRS * sizeof *clocks->pairs);
        if (clocks->histories == NULL)
            code = db_explain(&reason, MPI_ERR_NO_MEM, "out of memory");
        else
            clocks->pairs = (struct db_pair *)(clocks->histories + levels);
    }
    return db_agree_on_error(state->channel.comm, code, &reason);
}

int db_clocks_divide(struct db_state *state) {
    struct db_clocks *clocks = &state->clocks;
    int divided = scheme_of(&state->settings)->divided;
    db_levels_free(&clocks->levels);
    DB_TRY(reset_histories(state, divided ? DB_LEVELS : 1));
    memset(&state->syncs.last, 0, sizeof state->syncs.last);
    state->syncs.depth = db_schedule_first_depth(clocks->domain.count);
    if (!divided || clocks->domain.leaders.comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    return db_levels_divide(&clocks->levels, &clocks->domain.leaders, &state->settings.sync.nodes[0]);
}

void db_clocks_free(struct db_clocks *clocks) {
    db_levels_free(&clocks->levels);
    db_domain_free(&clocks->domain);
    db_clock_close(&clocks->clock);
    free(clocks->histories);
}
