#include "virtual_state.h"
#include "virtual_world.h"

#include "check.h"
#include "random.h"
#include "start/prepare.h"
#include "start/process_clock.h"

#include <math.h>
#include <string.h>

/* In place of clock.c: every process has one clock, that of its virtual oscillator. */

const void *const db_clock_types[] = {NULL};

int db_clock_open(struct db_clock *clock, const struct db_clock_type *type) {
    CHECK(type == NULL);
    *clock = *virtual_clock();
    return 0;
}

int db_process_clock_open(struct db_clock *clock, const struct db_clock_type *type) {
    return db_clock_open(clock, type);
}

int db_process_clock_set_domain(const struct db_clock *clock) {
    (void)clock;
    return MPI_SUCCESS;
}

void db_clock_close(struct db_clock *clock) { memset(clock, 0, sizeof *clock); }

struct db_clock_pair db_clock_read_pair(const struct db_clock *outer, const struct db_clock *inner) {
    int64_t now = db_clock_read(outer);
    CHECK(outer->type == inner->type);
    return (struct db_clock_pair){.outer = now, .inner = now};
}

/* In place of domain.c and agree_on_error.c: nobody shares a clock, and nothing fails. */

int64_t db_domain_identity(const struct db_clock *clock) {
    (void)clock;
    return 0;
}

int db_domain_find(struct db_domain *domain, const struct db_channel *channel, struct db_offer *offer) {
    CHECK(offer->clock.type != NULL && offer->settings.share);
    *domain = (struct db_domain){
        .members = *channel, .leaders = *channel, .leader_rank = virtual_rank(channel), .count = virtual_size(channel)};
    domain->members.comm = MPI_COMM_NULL;
    const struct virtual_world *world = virtual_self->world;
    if (world->memory == NULL)
        return MPI_SUCCESS;
    /* One clock a node. */
    domain->members = virtual_members(world, virtual_self->index);
    domain->leaders = virtual_leaders(world, virtual_self->index);
    domain->leader_rank = virtual_self->index / world->model.per_node;
    domain->count = virtual_nodes(world);
    domain->bound_ns = virtual_self->index % world->model.per_node == 0 ? 0.0 : offer->clock.resolution_ns;
    return MPI_SUCCESS;
}

void db_domain_free(struct db_domain *domain) { (void)domain; }

int db_agree_on_error(MPI_Comm comm, int code, const struct db_reason *reason) {
    (void)comm;
    (void)reason;
    CHECK(code == MPI_SUCCESS);
    return code;
}

/* A run. */
struct run {
    const struct virtual_starts *wanted;
    struct virtual_world *world;
    struct db_channel channel;
    struct db_settings settings;
    struct db_state *states; /* by process */
    int calls;               /* in all, and those before the first that counts */
    int skipped;
    struct virtual_outcome outcome;
    double *first_exit; /* by call */
    double *last_exit;
    double *last_entry;
    double from_sync_ns;
    long long from_syncs;
};

/* Compares the true error of a process's global clock with its own bound and expected error. Process 0's map is the one
 * of the same call: it changes in a synchronization only, which this process takes part in. */
static void check_clock(struct run *run, int process, int counts, struct virtual_start *start) {
    const struct db_state *state = &run->states[process];
    double now_ns = virtual_here_ns();
    int64_t ticks = virtual_ticks(run->world, process, now_ns);
    double deviation_ns = db_map_expected_ns(&state->clocks.map, ticks);
    double bound_ns = db_map_bound_ns(&state->clocks.map, ticks);
    start->expected_ns = fmax(start->expected_ns, deviation_ns);
    start->bound_ns = fmax(start->bound_ns, bound_ns);
    if (process == 0)
        return;
    struct virtual_outcome *outcome = &run->outcome;
    double error_ns = fabs(virtual_global_ns(run->world, process, &state->clocks.map, now_ns) -
                           virtual_global_ns(run->world, 0, &run->states[0].clocks.map, now_ns));
    start->beyond_bound += error_ns > bound_ns;
    if (!counts)
        return;
    ++outcome->errors;
    outcome->within[0] += error_ns <= deviation_ns;
    outcome->within[1] += error_ns <= 2.0 * deviation_ns;
    outcome->beyond_bound += error_ns > bound_ns;
    outcome->largest_share = fmax(outcome->largest_share, error_ns / bound_ns);
}

/* Why flags are 0, by hand. A wait that nothing interrupts ends within two readings. */
static void count_flag(struct run *run, int process, int flag) {
    const struct db_state *state = &run->states[process];
    double over_ns = (double)(state->call.exit_ticks - state->call.due_ticks) * state->clocks.map.ns_per_tick;
    int in_time = over_ns <= 2.0 * run->wanted->model.read_ns;
    run->outcome.refused += !flag;
    int doubted = db_map_deviation_ns(&state->clocks.map, state->call.due_ticks) > run->wanted->doubt_ns;
    run->outcome.doubted += doubted;
    run->outcome.both += doubted && !in_time;
}

/* The lateness of the call before, as reported to this process. */
static void note_told(struct run *run, int process, int call) {
    struct virtual_start *before = &run->outcome.all[call - 1];
    double told_ns = (double)run->states[process].call.lateness_ns;
    CHECK(before->told_ns < 0.0 || told_ns == before->told_ns);
    before->told_ns = told_ns;
}

static void count_start(struct run *run, int process, int call, int flag) {
    struct virtual_start *start = &run->outcome.all[call];
    double exit_ns = virtual_read_ns(); /* an interruption after the last reading cannot be seen */
    run->first_exit[call] = fmin(run->first_exit[call], exit_ns);
    run->last_exit[call] = fmax(run->last_exit[call], exit_ns);
    start->valid &= flag;
    const struct db_state *state = &run->states[process];
    double late_ns =
        virtual_global_ns(run->world, 0, &run->states[0].clocks.map, exit_ns) - (double)state->call.deadline_ns;
    start->late_ns = fmax(start->late_ns, late_ns);
    start->slack_ns = (double)state->call.slack_ns;
    start->lag_ns = fmax(start->lag_ns, (double)state->call.lag_ns);
    start->syncs = state->syncs.count;
    check_clock(run, process, call >= run->skipped, start);
}

/* Uniform in [0, 1), different for each process and call. */
static double jitter_of(int process, int call) { return unit_of(((uint64_t)process << 32) + (uint64_t)call + 1); }

static void prepare(const struct run *run, int process) {
    struct db_state *state = &run->states[process];
    state->channel = run->channel;
    state->channel.messages = &state->messages;
    state->rank = process;
    state->slack = process == 0 ? virtual_allocate(1, sizeof *state->slack) : NULL;
    state->size = run->wanted->size;
    state->call.verdict = MPI_UNDEFINED;
    db_levels_init(&state->clocks.levels);
    struct db_offer offer = {.settings = run->settings, .clock = *virtual_clock()};
    CHECK(db_state_configure(state, &offer) == MPI_SUCCESS);
}

static void take_part(int process, void *argument) {
    struct run *run = argument;
    const struct virtual_starts *wanted = run->wanted;
    struct db_state *state = &run->states[process];
    prepare(run, process);
    for (int call = 0; call < run->calls; ++call) {
        double absent_ns = call < run->skipped ? 0.0 : wanted->absent_ns;
        virtual_rest_until(call * wanted->period_ns + absent_ns + wanted->jitter_ns * jitter_of(process, call));
        if (process == 0 && call == run->skipped) {
            run->from_sync_ns = state->syncs.spent_ns;
            run->from_syncs = state->syncs.count;
        }
        int flag;
        run->last_entry[call] = fmax(run->last_entry[call], virtual_here_ns());
        CHECK(db_harmonize(state, 0.0, &flag) == MPI_SUCCESS);
        count_flag(run, process, flag);
        count_start(run, process, call, flag);
        if (call > 0)
            note_told(run, process, call);
    }
}

/* Before this many synchronizations, a jump looks the same as a rate that is not known yet. */
#define KNOWN_SYNCS 4

/* From the call in which a clock turns to the next synchronization that began after that, which shows a jump, or to the
 * one after that: the first may come so soon that another rate has hardly moved the clock. */
static void mark_blind(struct run *run, const struct virtual_turn *turn) {
    struct virtual_start *all = run->outcome.all;
    int first = 0;
    while (first < run->calls && run->last_exit[first] < turn->at_ns)
        ++first;
    int more = turn->skew != 0.0 || all[first].syncs < KNOWN_SYNCS;
    for (int i = first; i < run->calls && all[i].syncs <= all[first].syncs + more; ++i)
        all[i].blind = 1;
}

static void sum_up(struct run *run) {
    const struct db_state *first = &run->states[0];
    struct virtual_outcome *outcome = &run->outcome;
    for (int i = 0; i < run->calls; ++i) {
        outcome->all[i].skew_ns = run->last_exit[i] - run->first_exit[i];
        outcome->all[i].cost_ns = run->last_exit[i] - run->last_entry[i];
    }
    for (int i = 0; i < run->wanted->size; ++i) {
        const struct virtual_oscillator *oscillator = virtual_oscillator(run->world, i);
        for (int k = 0; k < oscillator->turn_count; ++k)
            mark_blind(run, &oscillator->turns[k]);
        outcome->late += run->states[i].counters.late_arrivals + run->states[i].counters.late_exits;
        outcome->contradictions += run->states[i].contradiction.count;
        outcome->unsure += run->states[i].counters.unsure_clocks;
    }
    outcome->depth = first->syncs.depth;
    outcome->tolerance_ns = (double)first->thresholds.tolerance_ns;
    outcome->lags = first->slack->lags.count;
    outcome->syncs = first->syncs.count;
    outcome->syncs_counted = first->syncs.count - run->from_syncs;
    outcome->sync_share = (first->syncs.spent_ns - run->from_sync_ns) / (run->wanted->until_ns - run->wanted->from_ns);
    outcome->sync_ns = first->syncs.spent_ns / (double)first->syncs.count;
}

struct virtual_outcome virtual_starts_run(const struct virtual_starts *starts) {
    struct run run = {.wanted = starts, .world = virtual_create(&starts->model, starts->size)};
    struct db_reason reason;
    char message[DOWNBEAT_MAX_MESSAGE];
    CHECK(db_settings_from_environment(&run.settings, &reason) == MPI_SUCCESS);
    if (starts->sync != NULL)
        CHECK(db_scheme_parse(&run.settings.sync, "scheme", starts->sync, message) == 0);
    run.settings.transport = starts->transport;
    run.channel = virtual_channel(run.world, NULL, starts->size);
    virtual_memory_create(run.world);
    run.calls = (int)ceil(starts->until_ns / starts->period_ns);
    run.skipped = (int)ceil(starts->from_ns / starts->period_ns);
    if (run.skipped == run.calls)
        --run.skipped;
    CHECK(run.skipped >= 0);
    run.outcome.count = run.calls - run.skipped;
    run.outcome.early_count = run.skipped;
    run.outcome.all = virtual_allocate((size_t)run.calls, sizeof *run.outcome.all);
    run.outcome.starts = run.outcome.all + run.skipped;
    run.first_exit = virtual_allocate((size_t)run.calls, sizeof *run.first_exit);
    run.last_exit = virtual_allocate((size_t)run.calls, sizeof *run.last_exit);
    run.last_entry = virtual_allocate((size_t)run.calls, sizeof *run.last_entry);
    run.states = virtual_allocate((size_t)starts->size, sizeof *run.states);
    for (int i = 0; i < run.calls; ++i) {
        run.outcome.all[i].valid = 1;
        run.outcome.all[i].told_ns = -1.0;
        run.first_exit[i] = INFINITY;
    }
    virtual_run(run.world, take_part, &run);
    sum_up(&run);
    for (int i = 0; i < starts->size; ++i)
        free(run.states[i].clocks.histories);
    free(run.states[0].slack);
    free(run.states);
    free(run.last_exit);
    free(run.last_entry);
    free(run.first_exit);
    virtual_memory_free(run.world);
    virtual_free(run.world);
    return run.outcome;
}

void virtual_outcome_free(struct virtual_outcome *outcome) { free(outcome->all); }
