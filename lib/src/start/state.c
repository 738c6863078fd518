#include "start/state.h"

#include "start/processors.h"
#include "start/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void conclude(struct db_attribute *attribute) {
    const struct db_state *state = (const struct db_state *)attribute;
    for (struct db_dependent *each = state->dependents; each != NULL; each = each->next)
        each->conclude(each);
}

static void destroy(struct db_attribute *attribute) {
    struct db_state *state = (struct db_state *)attribute;
    while (state->dependents != NULL) {
        struct db_dependent *first = state->dependents;
        state->dependents = first->next;
        first->destroy(first);
    }
    db_levels_free(&state->levels);
    db_domain_free(&state->domain);
    db_clock_close(&state->clock);
    free(state->histories);
    free(state->slack);
    if (state->channel.comm != MPI_COMM_NULL)
        MPI_Comm_free(&state->channel.comm);
    free(state);
}

/* Warns that processors are oversubscribed: on process 0 of a communicator, once per process. */
static int tell_oversubscribed(const struct db_state *state) {
    int first = 0;
    if (state->oversubscribed && state->rank == 0)
        DB_TRY(db_attribute_first_time(&first));
    if (first)
        db_tell("more processes than processors on a node: a process without a processor at the deadline starts late "
                "and gets flag 0; run at most one process per processor");
    return MPI_SUCCESS;
}

/* Synchronizes the representatives of the domains. */
static int synchronize_leaders(struct db_state *state, int64_t begin, int64_t global_ns, struct db_reason *reason,
                               double *contradicted) {
    struct db_sync_group group = {
        .channel = state->domain.leaders,
        .rank = state->domain.place,
        .size = state->domain.count,
        .clock = &state->clock,
        .local = {.ticks = begin, .ns_per_tick = state->clock.ns_per_tick},
        /* Frequencies differ as those of the oscillators do, and by what either side's calibration is off, which is
         * taken to be the same on both sides. */
        .limits = {.skew = state->settings.max_skew + 2.0 * state->clock.rate_error,
                   .wander = state->settings.max_wander,
                   .ramp = DB_MAX_RAMP * 1e-9},
        .lasting = state->local,
        .lasting_limits = {.skew = state->settings.max_skew + 2.0 * state->local_rate_error,
                           .wander = state->settings.max_wander,
                           .ramp = DB_MAX_RAMP * 1e-9},
        .depth = state->sync_depth,
        .histories = state->histories,
        .pairs = state->pairs,
        .reason = reason,
        .contradicted = contradicted,
        .levels = &state->levels,
    };
    if (group.rank == 0)
        state->map = (struct db_clock_map){.version = state->map.version,
                                           .ticks = begin,
                                           .global_ns = global_ns,
                                           .ns_per_tick = state->clock.ns_per_tick};
    return db_sync_run(&state->settings.sync.nodes[0], &group, &state->map);
}

/* Whether the scheme may refuse the clocks. */
static int refuses(const struct db_settings *settings) {
    const struct db_sync_type *type = (const struct db_sync_type *)settings->sync.nodes[0].component;
    return type->refusing;
}

void db_state_contradict(struct db_state *state, double difference) {
    ++state->contradictions;
    state->doubt = difference;
    state->contradicted = fmax(state->contradicted, difference);
}

/* Two maps of one global clock are no further apart than their bounds. Returns the difference in frequency that would
 * explain it if they are, else 0. */
static double contradiction(const struct db_clock_map *before, const struct db_clock_map *after, int64_t ticks) {
    double apart_ns = fabs((double)(db_map_global_ns(after, ticks) - db_map_global_ns(before, ticks)));
    double allowed_ns = db_map_bound_ns(before, ticks) + db_map_bound_ns(after, ticks) + DB_ROUNDING_NS;
    return apart_ns > allowed_ns ? apart_ns / fmax(1.0, db_map_elapsed_ns(before, ticks)) : 0.0;
}

int db_state_synchronize(struct db_state *state) {
    struct db_clock_map *map = &state->map;
    const struct db_clock_map before = *map;
    double contradicted = 0.0;
    int64_t begin = db_clock_read(&state->clock);
    int64_t version = map->version;
    long long messages = state->messages;

    /* A better rate takes effect from now on, and here only, so that the clock does not jump. */
    int64_t global_ns = db_map_global_ns(map, begin);
    if (state->clock.type->refine != NULL)
        state->clock.type->refine(&state->clock);

    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    if (state->domain.leaders.comm != MPI_COMM_NULL)
        code = synchronize_leaders(state, begin, global_ns, &reason, &contradicted);
    if (refuses(&state->settings))
        code = db_agree(state->channel.comm, code, &reason);
    DB_TRY(code);
    if (state->domain.members.comm != MPI_COMM_NULL) {
        /* One clock, one map: ticks mean the same in the whole domain, and no difference is to be expected. */
        DB_TRY(db_broadcast(&state->domain.members, (int64_t *)map, sizeof *map / sizeof(int64_t)));
        map->bound_ns += state->domain.bound_ns;
    }
    map->version = version + 1;
    if (state->fresh.ticks != 0)
        contradicted = fmax(contradicted, contradiction(&before, map, db_clock_read(&state->clock)));
    state->doubt = 0.0;
    if (contradicted > 0.0)
        db_state_contradict(state, contradicted);
    ++state->syncs;
    state->sync_messages += state->messages - messages;
    state->fresh.ticks = db_clock_read(&state->clock);
    state->fresh.bound_ns = db_map_bound_ns(map, state->fresh.ticks);
    state->fresh.deviation_ns = db_map_deviation_ns(map, state->fresh.ticks);
    state->fresh.lasted_before_ns = state->fresh.lasted_ns;
    state->fresh.lasted_ns = (double)(state->fresh.ticks - begin) * state->clock.ns_per_tick;
    state->sync_ns += state->fresh.lasted_ns;
    return MPI_SUCCESS;
}

/* Names the other clocks: which of them this machine has is known only once one is opened. */
static int explain_missing_clock(struct db_reason *reason, const struct db_clock_type *missing) {
    char others[DOWNBEAT_MAX_MESSAGE / 2] = "";
    for (const void *const *entry = db_clock_types; *entry != NULL; ++entry) {
        const struct db_clock_type *type = *entry;
        if (type != missing)
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s%s", others[0] == '\0' ? "" : ", ",
                     type->component.described.name);
    }
    return db_explain(reason, MPI_ERR_OTHER, "clock '%s' is not available on this machine; choose one of %s",
                      missing->component.described.name, others);
}

int db_state_agree(MPI_Comm comm, struct db_offer *offer, int code, struct db_reason *reason) {
    struct db_clock *clock = &offer->clock;
    /* Calibrated here if it is this process's first, asleep: all processes wake from that at once, and go on together.
     */
    if (code == MPI_SUCCESS) {
        code = db_known_clock(clock, offer->settings.clock);
        if (code == MPI_ERR_OTHER)
            code = explain_missing_clock(reason, clock->type);
    }
    int known = !offer->settings.validation.enabled; /* else only once that is put around it */
    offer->domain = db_alike(known ? clock->domain : 0);
    offer->identity = db_alike(known ? db_domain_identity(clock) : 0);
    code = db_settings_agree(comm, offer, code, reason);
    if (code == MPI_SUCCESS)
        offer->settings.clock = clock->type;
    return code;
}

/* Makes a validation clock of the clock, if that is asked for. Collective. */
static int wrap_clock(const struct db_state *state, struct db_offer *offer) {
    struct db_clock *clock = &offer->clock;
    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    if (!offer->settings.validation.enabled)
        return MPI_SUCCESS;

    /* True time is one and the same function of the shared counter everywhere, so process 0's scale holds for all. */
    int64_t origin = db_clock_read(clock);
    double ns_per_tick = clock->ns_per_tick;
    DB_TRY(MPI_Bcast(&origin, 1, MPI_INT64_T, 0, state->channel.comm));
    DB_TRY(MPI_Bcast(&ns_per_tick, 1, MPI_DOUBLE, 0, state->channel.comm));
    if (db_validation_wrap(clock, &offer->settings.validation, state->rank, origin, ns_per_tick) != 0)
        code = db_explain(&reason, MPI_ERR_NO_MEM, "out of memory");
    return db_agree(state->channel.comm, code, &reason);
}

/* The global clock on another local clock, from where it is; before the first clock, it begins. */
static struct db_clock_map continued_map(const struct db_state *state, const struct db_clock *clock) {
    if (state->map.version == 0)
        return (struct db_clock_map){.ticks = db_clock_read(clock), .ns_per_tick = clock->ns_per_tick};
    struct db_clock_pair now = db_clock_read_pair(&state->clock, clock);
    return (struct db_clock_map){.version = state->map.version,
                                 .ticks = now.inner,
                                 .global_ns = db_map_global_ns(&state->map, now.outer),
                                 .ns_per_tick = clock->ns_per_tick};
}

/* Replaces clock, domains and map. Collective; leaves all as it was if it fails. */
static int change_clock(struct db_state *state, struct db_offer *offer) {
    struct db_domain domain = {0};
    int code = wrap_clock(state, offer);
    if (code == MPI_SUCCESS)
        code = db_domain_find(&domain, &state->channel, offer);
    if (code == MPI_SUCCESS)
        code = db_known_keep_domain(&offer->clock);
    if (code != MPI_SUCCESS) {
        db_domain_free(&domain);
        db_clock_close(&offer->clock);
        return code;
    }
    const struct db_clock clock = offer->clock;
    state->map = continued_map(state, &clock);
    db_domain_free(&state->domain);
    db_clock_close(&state->clock);
    state->domain = domain;
    state->clock = clock;
    state->local = (struct db_clock_map){.ticks = state->map.ticks, .ns_per_tick = clock.ns_per_tick};
    state->local_rate_error = clock.rate_error;
    return MPI_SUCCESS;
}

void db_state_add_dependent(struct db_state *state, struct db_dependent *dependent) {
    struct db_dependent **link = &state->dependents;
    while (*link != NULL)
        link = &(*link)->next;
    dependent->next = NULL;
    *link = dependent;
}

/* Leaves nothing learned of other clocks, where this process will learn of any. Collective. */
static int forget(struct db_state *state, size_t levels) {
    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    free(state->histories);
    state->histories = NULL;
    if (state->domain.count == 1)
        return MPI_SUCCESS;
    if (state->domain.leaders.comm != MPI_COMM_NULL) {
        state->histories = calloc(levels, sizeof *state->histories + DB_MAX_PAIRS * sizeof *state->pairs);
        if (state->histories == NULL)
            code = db_explain(&reason, MPI_ERR_NO_MEM, "out of memory");
        else
            state->pairs = (struct db_pair *)(state->histories + levels);
    }
    return db_agree(state->channel.comm, code, &reason);
}

/* Divides the representatives into levels, where the scheme wants them divided. Collective. */
static int divide(struct db_state *state) {
    const struct db_node *scheme = &state->settings.sync.nodes[0];
    const struct db_sync_type *type = (const struct db_sync_type *)scheme->component;
    db_levels_free(&state->levels);
    DB_TRY(forget(state, type->divided ? DB_LEVELS : 1));
    memset(&state->fresh, 0, sizeof state->fresh);
    state->sync_depth = db_schedule_first_depth(state->domain.count);
    if (!type->divided || state->domain.leaders.comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    return db_levels_divide(&state->levels, &state->domain.leaders, scheme);
}

static int same_validation(const struct db_validation *a, const struct db_validation *b) {
    char texts[2][256];
    db_validation_format(a, texts[0], sizeof texts[0]);
    db_validation_format(b, texts[1], sizeof texts[1]);
    return strcmp(texts[0], texts[1]) == 0;
}

/* May leave some of it undone where the scheme refuses the clocks. */
static int apply(struct db_state *state, struct db_offer *wanted) {
    const struct db_settings *settings = &wanted->settings;
    const struct db_settings *old = &state->settings;
    int first = state->map.version == 0;
    int other_clock = first || settings->clock != old->clock || settings->share != old->share ||
                      !same_validation(&settings->validation, &old->validation);
    int other_sync = other_clock || !db_scheme_equal(&settings->sync, &old->sync);
    int other_slack = other_clock || settings->slack != old->slack || settings->slack_ns != old->slack_ns;

    if (other_clock)
        DB_TRY(change_clock(state, wanted));
    state->settings = *settings;
    state->max_age_ns = db_settings_max_age_ns(settings);
    state->target_error_ns = db_settings_target_error_ns(settings);
    state->flag_error_ns = db_settings_flag_error_ns(settings, state->size);
    state->trust_ns = state->domain.count > 1 ? db_settings_trust_ns(settings) : (double)INFINITY;
    if (other_sync) {
        DB_TRY(divide(state));
        DB_TRY(db_state_synchronize(state));
    }
    if (other_slack) {
        if (state->rank == 0)
            db_slack_init(state->slack, settings->slack, settings->slack_ns);
        DB_TRY(settings->slack->begin(state));
    }
    return MPI_SUCCESS;
}

int db_state_configure(struct db_state *state, struct db_offer *wanted) {
    struct db_offer before = {.settings = state->settings};
    struct db_reason reason = {""};
    int first = state->map.version == 0;
    int code = apply(state, wanted);
    if (code != MPI_SUCCESS && !first && refuses(&wanted->settings)) {
        DB_TRY(db_state_agree(state->channel.comm, &before, MPI_SUCCESS, &reason));
        DB_TRY(apply(state, &before));
    }
    return code;
}

/* Everything that a new state needs, except its channel and the attribute. */
static int build(struct db_state *state, struct db_offer *offer) {
    DB_TRY(MPI_Comm_size(state->channel.comm, &state->size));
    DB_TRY(db_processors_oversubscribed(state->channel.comm, &state->oversubscribed));
    /* Until it is known whether every process has its processor. */
    state->patience = state->oversubscribed ? DB_YIELD : DB_SLEEP;
    state->channel.patience = &state->patience;
    state->channel.messages = &state->messages;
    DB_TRY(tell_oversubscribed(state));
    state->patient_calls = 2;
    return db_state_configure(state, offer);
}

static struct db_state *new_state(MPI_Comm comm, int rank) {
    struct db_state *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->rank = rank;
    made->slack = rank == 0 ? malloc(sizeof *made->slack) : NULL;
    if (rank == 0 && made->slack == NULL) {
        free(made);
        return NULL;
    }
    made->attribute = (struct db_attribute){.comm = comm, .conclude = conclude, .destroy = destroy};
    made->verdict = MPI_UNDEFINED;
    made->channel.comm = MPI_COMM_NULL;
    made->domain.members.comm = MPI_COMM_NULL;
    made->domain.leaders.comm = MPI_COMM_NULL;
    for (int i = 0; i < DB_LEVELS; ++i)
        made->levels.level[i].channel.comm = MPI_COMM_NULL;
    return made;
}

/* What may fail on some processes alone, and must be known to all before they go on: memory, settings, the clock. */
static int begin(MPI_Comm comm, MPI_Comm channel, struct db_offer *offer, struct db_state **made) {
    struct db_reason reason = {""};
    int rank;
    DB_TRY(MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN));
    DB_TRY(MPI_Comm_rank(channel, &rank));
    *made = new_state(comm, rank);
    int code = db_settings_from_environment(&offer->settings, &reason);
    int reserved = *made == NULL ? MPI_ERR_NO_MEM : db_attribute_reserve();
    if (code == MPI_SUCCESS && reserved != MPI_SUCCESS)
        code = db_explain(&reason, reserved, "out of memory, or of keys for attributes");
    return db_state_agree(channel, offer, code, &reason);
}

static int create(MPI_Comm comm, struct db_state **state) {
    int inter;
    DB_TRY(MPI_Comm_test_inter(comm, &inter));
    if (inter)
        return MPI_ERR_COMM;
    struct db_offer offer = {0};
    struct db_state *made = NULL;
    MPI_Comm channel;
    DB_TRY(db_duplicate(comm, &channel));
    int code = begin(comm, channel, &offer, &made);
    if (made == NULL) {
        MPI_Comm_free(&channel);
        return code;
    }
    made->channel.comm = channel;
    if (code == MPI_SUCCESS)
        code = build(made, &offer);
    if (code == MPI_SUCCESS)
        code = db_attribute_attach(&made->attribute);
    if (code != MPI_SUCCESS) {
        destroy(&made->attribute);
        return code;
    }
    *state = made;
    return MPI_SUCCESS;
}

/* NULL if comm has no state. */
static int look_up(MPI_Comm comm, struct db_state **state) {
    struct db_attribute *attribute;
    DB_TRY(db_attribute_find(comm, &attribute));
    *state = (struct db_state *)attribute;
    return MPI_SUCCESS;
}

int db_state_prepare(MPI_Comm comm, struct db_state **state) {
    DB_TRY(look_up(comm, state));
    return *state != NULL ? MPI_SUCCESS : create(comm, state);
}

int db_state_find(MPI_Comm comm, struct db_state **state) {
    DB_TRY(look_up(comm, state));
    return *state != NULL ? MPI_SUCCESS : MPI_ERR_OTHER;
}
