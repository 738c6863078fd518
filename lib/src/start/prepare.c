/* Creation of a communicator's state at its first call, and changes of its settings (prepare.h). Steps that may fail on
 * some processes only are followed by an agreement of all processes. */
#include "start/prepare.h"

#include "start/clocks.h"
#include "start/decision.h"
#include "start/process_clock.h"
#include "start/protocol.h"
#include "start/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frees the state of a communicator, when its attribute is deleted. */
static void destroy_state(struct db_attribute *attribute) {
    struct db_state *state = (struct db_state *)attribute;
    db_transport_free(&state->transport);
    db_clocks_free(&state->clocks);
    free(state->slack);
    if (state->channel.comm != MPI_COMM_NULL)
        MPI_Comm_free(&state->channel.comm);
    free(state);
}

/* Explains that a clock is missing. Lists all other clocks of the registry, although this machine may lack some of
 * them, too. */
static int explain_missing_clock(struct db_reason *reason, const struct db_clock_type *missing) {
    char alternatives[DOWNBEAT_MAX_MESSAGE / 2] = "";
    for (const void *const *entry = db_clock_types; *entry != NULL; ++entry) {
        const struct db_clock_type *type = *entry;
        if (type != missing)
            snprintf(alternatives + strlen(alternatives), sizeof alternatives - strlen(alternatives), "%s%s",
                     alternatives[0] == '\0' ? "" : ", ", type->component.described.name);
    }
    return db_explain(reason, MPI_ERR_OTHER, "clock '%s' is not available on this machine; choose one of %s",
                      missing->component.described.name, alternatives);
}

int db_state_agree(MPI_Comm comm, struct db_offer *offer, int code, struct db_reason *reason) {
    struct db_clock *clock = &offer->clock;
    /* The first clock of a process is calibrated here, so that all processes sleep at the same time. */
    if (code == MPI_SUCCESS) {
        code = db_process_clock_open(clock, offer->settings.clock);
        if (code == MPI_ERR_OTHER)
            code = explain_missing_clock(reason, clock->type);
    }
    int known = !offer->settings.validation.enabled; /* 0: clocks_change will wrap the clock in a validation clock */
    offer->domain = db_alike(known ? clock->domain : 0);
    offer->identity = db_alike(known ? db_domain_identity(clock) : 0);
    code = db_settings_agree(comm, offer, code, reason);
    if (code == MPI_SUCCESS)
        offer->settings.clock = clock->type;
    return code;
}

void db_state_update_thresholds(struct db_state *state, int64_t automatic_ns) {
    state->thresholds = db_settings_thresholds(&state->settings, state->size, state->clocks.domain.count, automatic_ns);
    db_schedule_invalidate(state);
}

/* Returns the transport to use: that of the setting, but messages for slack=published with transport=auto, as in the
 * paper. */
static enum db_transport_kind requested_transport(const struct db_settings *settings) {
    int published = settings->slack == &db_slack_published && settings->transport == DB_TRANSPORT_AUTO;
    return published ? DB_TRANSPORT_MESSAGES : (enum db_transport_kind)settings->transport;
}

/* Starts the slack controller of the settings. Collective. */
static int begin_slack(struct db_state *state) {
    const struct db_settings *settings = &state->settings;
    state->root.observation =
        (struct db_slack_call){0}; /* discard the observation of the previous slack or transport */
    state->call.needs = DB_NEED_SLACK;
    if (state->rank == 0)
        db_slack_init(state->slack, settings->slack, settings->slack_ns);
    return settings->slack->begin(state);
}

/* Sets up the transport of the settings. Process 0 prints a line, once, if memory cannot be shared as the user
 * requested. Collective. */
static int begin_transport(struct db_state *state) {
    const enum db_transport_kind requested = requested_transport(&state->settings);
    struct db_transport *transport = &state->transport;
    int first = 0;
    DB_TRY(db_transport_begin(transport, &state->channel, state->size, requested, state->waiting.one_node));
    /* Nothing to print if the user left the choice to the library, or has the requested transport or a faster one. */
    if (requested == DB_TRANSPORT_AUTO || transport->kind == requested || transport->kind == DB_TRANSPORT_SHARED ||
        state->size == 1)
        return MPI_SUCCESS;
    if (state->rank == 0)
        DB_TRY(db_attribute_first_time(DB_FIRST_WITHOUT_MEMORY, &first));
    if (first)
        db_print(requested == DB_TRANSPORT_SHARED
                     ? "transport=shared: not all processes can map common memory; messages are used instead; run "
                       "them on one node, in containers that share /proc"
                     : "transport=nodes: no two processes can map common memory; messages are used instead");
    return MPI_SUCCESS;
}

/* Number of calls after which transport=auto sets up shared memory: it has then saved the time of its setup.
 * Many programs make fewer calls on a communicator. Measured by first_us and call_cost_us of make bench. Switching at
 * this break-even costs at most twice as much as the best choice; at half or twice the value, 3 times as much. Depends
 * on the machine. */
#define CALLS_BEFORE_LINES 16

int db_state_choose_transport(struct db_state *state) {
    if (state->transport.neighbors.size > 0 || /* set up already */ state->counters.calls < CALLS_BEFORE_LINES ||
        requested_transport(&state->settings) != DB_TRANSPORT_AUTO)
        return MPI_SUCCESS;
    DB_TRY(db_state_barrier(state));
    DB_TRY(begin_transport(state));
    return state->transport.kind == DB_TRANSPORT_MESSAGES ? MPI_SUCCESS : begin_slack(state);
}

/* Puts settings into force, as far as they differ from the current ones. If the scheme refuses the clocks, some new
 * settings are in force and some are not. */
static int apply(struct db_state *state, struct db_offer *requested) {
    const struct db_settings *settings = &requested->settings;
    const struct db_settings *old = &state->settings;
    int first = state->clocks.map.version == 0;
    int other_clock = first || settings->clock != old->clock || settings->share != old->share ||
                      !db_validation_same(&settings->validation, &old->validation);
    int other_sync = other_clock || !db_scheme_equal(&settings->sync, &old->sync);
    int other_transport = first || requested_transport(settings) != requested_transport(old);
    int other_slack =
        other_clock || other_transport || settings->slack != old->slack || settings->slack_ns != old->slack_ns;

    /* Without a change of the clock, the current automatic tolerance stays. */
    int keep = !other_clock && old->tolerance_ns == DB_TOLERANCE_AUTO;
    int64_t automatic_ns = keep ? state->thresholds.tolerance_ns : DB_DEFAULT_TOLERANCE_NS;

    if (other_clock)
        DB_TRY(db_clocks_change(state, requested));
    state->settings = *settings;
    db_state_update_thresholds(state, automatic_ns);
    if (other_sync) {
        DB_TRY(db_clocks_divide(state));
        DB_TRY(db_clocks_synchronize(state));
    }
    if (other_transport && requested_transport(settings) == DB_TRANSPORT_AUTO)
        db_transport_free(&state->transport); /* db_state_choose_transport sets it up later */
    else if (other_transport)
        DB_TRY(begin_transport(state));
    return other_slack ? begin_slack(state) : MPI_SUCCESS;
}

int db_state_configure(struct db_state *state, struct db_offer *requested) {
    struct db_offer before = {.settings = state->settings};
    struct db_reason reason = {""};
    int first = state->clocks.map.version == 0;
    int code = apply(state, requested);
    /* A refusing scheme fails on all processes together, so they can return to the settings before. */
    if (code != MPI_SUCCESS && !first && db_clocks_refusable(&requested->settings)) {
        DB_TRY(db_state_agree(state->channel.comm, &before, MPI_SUCCESS, &reason));
        DB_TRY(apply(state, &before));
    }
    if (code != MPI_SUCCESS)
        DB_TRY(db_loss_watch(state->channel.watched)); /* a process failure has a code of its own */
    return code;
}

/* Initializes everything of a new state except its channel and attribute. */
static int build(struct db_state *state, struct db_offer *offer) {
    DB_TRY(MPI_Comm_size(state->channel.comm, &state->size));
    DB_TRY(db_waiting_begin(state));
    state->channel.patience = &state->waiting.patience;
    state->channel.messages = &state->messages;
    if (db_loss_survived())
        state->channel.watched = &state->watched;
    return db_state_configure(state, offer);
}

/* Allocates the state of a communicator, with the members that need no messages; NULL if memory is short. */
static struct db_state *new_state(MPI_Comm comm, int rank) {
    struct db_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->rank = rank;
    state->slack = rank == 0 ? malloc(sizeof *state->slack) : NULL;
    if (rank == 0 && state->slack == NULL) {
        free(state);
        return NULL;
    }
    state->attribute = (struct db_attribute){.comm = comm, .destroy = destroy_state};
    state->call.verdict = MPI_UNDEFINED;
    state->channel.comm = MPI_COMM_NULL;
    state->transport.kind = DB_TRANSPORT_MESSAGES;
    db_levels_init(&state->clocks.levels);
    return state;
}

/* Steps that may fail on some processes only (memory, settings, clock), and the agreement of all processes on the
 * result. */
static int prepare_local(MPI_Comm comm, MPI_Comm channel, struct db_offer *offer, struct db_state **state) {
    struct db_reason reason = {""};
    int rank;
    DB_TRY(MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN));
    DB_TRY(MPI_Comm_rank(channel, &rank));
    *state = new_state(comm, rank);
    int code = db_settings_from_environment(&offer->settings, &reason);
    int reserved = *state == NULL ? MPI_ERR_NO_MEM : db_attribute_reserve();
    if (code == MPI_SUCCESS && reserved != MPI_SUCCESS)
        code = db_explain(&reason, reserved, "out of memory, or of keys for attributes");
    return db_state_agree(channel, offer, code, &reason);
}

/* Returns the error code of a process failure if there was one, else `code`. When MPI creates communicators, it reports
 * failures by many codes. */
static int failure_or(MPI_Comm comm, int code) {
    DB_TRY(db_loss_of(comm));
    return code;
}

/* Creates the state of a communicator. Collective. */
static int create_state(MPI_Comm comm, struct db_state **state) {
    int inter;
    DB_TRY(MPI_Comm_test_inter(comm, &inter));
    if (inter)
        return MPI_ERR_COMM;
    struct db_offer offer = {0};
    struct db_state *created = NULL;
    MPI_Comm channel;
    DB_TRY(db_loss_of(comm));
    int code = db_duplicate(comm, &channel);
    if (code != MPI_SUCCESS)
        return failure_or(comm, code);
    code = prepare_local(comm, channel, &offer, &created);
    if (created == NULL)
        return db_loss_free(&channel, failure_or(comm, code));
    created->channel.comm = channel;
    created->watched = (struct db_watched){.user = comm, .duplicate = channel};
    if (code == MPI_SUCCESS)
        code = build(created, &offer);
    if (code == MPI_SUCCESS)
        code = db_attribute_attach(&created->attribute);
    if (code != MPI_SUCCESS) {
        db_loss_revoke(channel); /* wakes processes still blocked on this channel */
        destroy_state(&created->attribute);
        return failure_or(comm, code);
    }
    *state = created;
    return MPI_SUCCESS;
}

/* Sets `state` to NULL if comm has none. */
static int look_up_state(MPI_Comm comm, struct db_state **state) {
    struct db_attribute *attribute;
    DB_TRY(db_attribute_find(comm, &attribute));
    *state = (struct db_state *)attribute;
    return MPI_SUCCESS;
}

int db_state_prepare(MPI_Comm comm, struct db_state **state) {
    DB_TRY(look_up_state(comm, state));
    return *state != NULL ? db_loss_watch((*state)->channel.watched) : create_state(comm, state);
}

int db_state_barrier(struct db_state *state) {
    int64_t nothing = 0;
    int64_t maximum; /* not used */
    if (state->channel.watched == NULL)
        return MPI_SUCCESS;
    DB_TRY(db_reduce_max(&state->channel, &nothing, &maximum, 1));
    return db_broadcast(&state->channel, &nothing, 1);
}

int db_state_find(MPI_Comm comm, struct db_state **state) {
    DB_TRY(look_up_state(comm, state));
    return *state != NULL ? MPI_SUCCESS : MPI_ERR_OTHER;
}
