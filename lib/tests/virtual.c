#define _GNU_SOURCE
#include "virtual.h"

#include "check.h"
#include "error.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#define TWO_PI 6.283185307179586

/* A counter that has run for a week or two: too large for a double to keep its nanoseconds. */
#define BASE_TICKS ((int64_t)1 << 51)

#define STACK_BYTES ((size_t)256 * 1024)

const struct virtual_network virtual_quiet = {.overhead_ns = 100.0, .fixed_ns = 1500.0};
const struct virtual_network virtual_heavy = {
    .overhead_ns = 100.0, .fixed_ns = 1500.0, .exponential_ns = 150.0, .tail_ns = 200.0, .tail_share = 0.1};

/* As in MPI, messages between two processes and those of collective operations do not match. */
enum kind { MESSAGE, COLLECTIVE };

struct group {
    int size;
    int *members;
    int *rank_of; /* process -> rank, -1 where it is no member */
};

/* What a receive asks for. */
struct envelope {
    int source; /* process */
    int group;
    enum kind kind;
};

struct message {
    struct message *next;
    struct envelope envelope;
    double arrival_ns;
    long depth;
    int count;
    int64_t words[];
};

struct process {
    struct virtual_world *world;
    int index;
    pthread_t thread;
    sem_t turn;                 /* posted when it is this process's turn to run */
    struct process *next_ready; /* in the queue of those whose turn will come */
    struct message *inbox;      /* in the order of sending */
    int waiting;
    struct envelope wanted; /* while waiting */

    double now_ns; /* true time */
    long depth;
    struct virtual_oscillator oscillator;
    struct db_clock clock;
    struct way {
        uint64_t sent; /* numbers the delays: never reset */
        long sent_in_run;
        double last_arrival_ns;
    } * ways; /* by destination */
};

struct virtual_world {
    struct virtual_model model;
    int size;
    struct process *processes;
    struct group *groups;
    int group_count;

    /* One process runs at a time, until it waits for a message or is done: so nothing of this needs a lock. */
    struct process *first_ready;
    struct process **last_ready; /* where the next one is put */
    void (*body)(int process, void *argument);
    void *argument;
};

/* The process whose thread this is. */
static _Thread_local struct process *self;

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    CHECK(memory != NULL);
    return memory;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* The start of a stream that belongs to three numbers. */
static uint64_t stream(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t state = seed;
    state = next_random(&state) ^ a;
    state = next_random(&state) ^ b;
    state = next_random(&state) ^ c;
    return next_random(&state);
}

/* Uniform in (0, 1]. */
static double uniform(uint64_t *state) { return (double)((next_random(state) >> 11) + 1) * 0x1p-53; }

static double symmetric(uint64_t *state) { return 2.0 * uniform(state) - 1.0; }

static double delay_ns(const struct virtual_world *world, int source, int destination, uint64_t number) {
    const struct virtual_network *network = &world->model.network;
    uint64_t state = stream(world->model.seed, (uint64_t)source, (uint64_t)destination, number);
    double delay = network->fixed_ns - network->exponential_ns * log(uniform(&state));
    if (uniform(&state) <= network->tail_share)
        delay += network->tail_ns * pow(uniform(&state), -1.0 / 1.5);
    if (network->way_ns != NULL)
        delay += network->way_ns(source, destination, self->now_ns);
    return delay;
}

/* Ticks since BASE_TICKS, with fractions. */
static double ticks_at(const struct virtual_oscillator *oscillator, double true_ns) {
    /* Incommensurable, from the length of a few resynchronizations to that of a long benchmark. */
    static const double period_ns[VIRTUAL_SINES] = {1.7e9, 7.3e9, 31.1e9};
    double wander_ns = 0.0;
    for (int i = 0; i < VIRTUAL_SINES; ++i) {
        /* A sine of amplitude A and period T deviates in frequency by up to 2 pi A / T: equal shares of the bound. */
        double amplitude_ns = oscillator->wander / VIRTUAL_SINES * period_ns[i] / TWO_PI;
        wander_ns += amplitude_ns * sin(TWO_PI * true_ns / period_ns[i] + oscillator->phase[i]);
    }
    return (true_ns + oscillator->offset_ns + oscillator->skew * true_ns + wander_ns) / oscillator->ns_per_tick;
}

static int64_t read_ticks(const struct db_clock *clock) {
    CHECK(self != NULL && clock == &self->clock);
    self->now_ns += self->world->model.read_ns / 2.0;
    int64_t ticks = BASE_TICKS + (int64_t)floor(ticks_at(&self->oscillator, self->now_ns));
    self->now_ns += self->world->model.read_ns / 2.0;
    return ticks;
}

/* Reads as the library's clocks do, but skips nearly all that is left: no clock is off by a thousandth. */
static int64_t wait_until(const struct db_clock *clock, int64_t ticks) {
    int64_t reading = read_ticks(clock);
    while (reading < ticks) {
        self->now_ns += 0.999 * (double)(ticks - reading) * self->oscillator.ns_per_tick;
        reading = read_ticks(clock);
    }
    return reading;
}

static const struct db_clock_type virtual_clock_type = {.read = read_ticks, .wait_until = wait_until};

static void set_clock(struct process *process, const struct virtual_model *model) {
    const struct virtual_oscillator *oscillator = &process->oscillator;
    process->clock = (struct db_clock){.type = &virtual_clock_type,
                                       .ns_per_tick = oscillator->ns_per_tick * (1.0 + oscillator->calibration),
                                       .rate_error = model->calibration,
                                       .resolution_ns = oscillator->ns_per_tick};
}

static void create_process(struct virtual_world *world, int index) {
    const struct virtual_model *model = &world->model;
    struct process *process = &world->processes[index];
    uint64_t state = stream(~model->seed, (uint64_t)index, 0, 0);
    process->world = world;
    process->index = index;
    process->ways = allocate((size_t)world->size, sizeof *process->ways);
    process->oscillator = (struct virtual_oscillator){.offset_ns = model->offset_ns * symmetric(&state),
                                                      .skew = model->skew * symmetric(&state),
                                                      .wander = model->wander,
                                                      .ns_per_tick = model->ns_per_tick,
                                                      .calibration = model->calibration * symmetric(&state)};
    for (int i = 0; i < VIRTUAL_SINES; ++i)
        process->oscillator.phase[i] = TWO_PI * uniform(&state);
    CHECK(sem_init(&process->turn, 0, 0) == 0);
}

struct virtual_world *virtual_create(const struct virtual_model *model, int size) {
    struct virtual_world *world = allocate(1, sizeof *world);
    world->model = *model;
    world->size = size;
    world->processes = allocate((size_t)size, sizeof *world->processes);
    for (int i = 0; i < size; ++i)
        create_process(world, i);
    return world;
}

void virtual_free(struct virtual_world *world) {
    for (int i = 0; i < world->size; ++i) {
        CHECK(sem_destroy(&world->processes[i].turn) == 0);
        free(world->processes[i].ways);
    }
    for (int i = 0; i < world->group_count; ++i) {
        free(world->groups[i].members);
        free(world->groups[i].rank_of);
    }
    free(world->groups);
    free(world->processes);
    free(world);
}

struct virtual_oscillator *virtual_oscillator(struct virtual_world *world, int process) {
    return &world->processes[process].oscillator;
}

/* The channel's communicator is no communicator: its first bytes are the number of the group, from 1. What a
 * communicator is differs between MPI libraries, but none is smaller than an int. */
struct db_channel virtual_channel(struct virtual_world *world, const int *members, int size) {
    struct group *groups = realloc(world->groups, (size_t)(world->group_count + 1) * sizeof *groups);
    CHECK(groups != NULL);
    world->groups = groups;
    struct group *group = &groups[world->group_count++];
    *group = (struct group){.size = size,
                            .members = allocate((size_t)size, sizeof *group->members),
                            .rank_of = allocate((size_t)world->size, sizeof *group->rank_of)};
    for (int i = 0; i < world->size; ++i)
        group->rank_of[i] = -1;
    for (int rank = 0; rank < size; ++rank) {
        int process = members == NULL ? rank : members[rank];
        CHECK(process >= 0 && process < world->size && group->rank_of[process] == -1);
        group->members[rank] = process;
        group->rank_of[process] = rank;
    }
    struct db_channel channel;
    memset(&channel, 0, sizeof channel);
    memcpy(&channel.comm, &world->group_count, sizeof world->group_count);
    return channel;
}

static int group_of(const struct db_channel *channel) {
    int number;
    memcpy(&number, &channel->comm, sizeof number);
    CHECK(self != NULL && number >= 1 && number <= self->world->group_count);
    CHECK(self->world->groups[number - 1].rank_of[self->index] >= 0);
    return number - 1;
}

static int process_of(int group, int rank) {
    const struct group *members = &self->world->groups[group];
    CHECK(rank >= 0 && rank < members->size && members->members[rank] != self->index);
    return members->members[rank];
}

static int matches(const struct envelope *a, const struct envelope *b) {
    return a->source == b->source && a->group == b->group && a->kind == b->kind;
}

static void make_ready(struct process *process) {
    struct virtual_world *world = process->world;
    process->next_ready = NULL;
    *world->last_ready = process;
    world->last_ready = &process->next_ready;
}

/* Gives the turn to the next process, if there is one that can run. */
static void pass_turn(struct virtual_world *world) {
    struct process *next = world->first_ready;
    if (next == NULL) {
        int stuck = 0;
        for (int i = 0; i < world->size; ++i)
            if (world->processes[i].waiting) {
                fprintf(stderr, "deadlock: process %d waits for %d\n", i, world->processes[i].wanted.source);
                stuck = 1;
            }
        if (stuck)
            check_fail();
        return; /* all are done */
    }
    world->first_ready = next->next_ready;
    if (world->first_ready == NULL)
        world->last_ready = &world->first_ready;
    CHECK(sem_post(&next->turn) == 0);
}

static void await_turn(void) {
    while (sem_wait(&self->turn) != 0)
        CHECK(errno == EINTR);
}

static int send_words(int group, enum kind kind, const int64_t *words, int count, int rank) {
    int destination = process_of(group, rank);
    struct process *receiver = &self->world->processes[destination];
    struct way *way = &self->ways[destination];
    struct message *message = malloc(sizeof *message + (size_t)count * sizeof *words);
    CHECK(message != NULL);

    self->now_ns += self->world->model.network.overhead_ns;
    ++way->sent_in_run;
    double delay = delay_ns(self->world, self->index, destination, way->sent++);
    *message = (struct message){.envelope = {.source = self->index, .group = group, .kind = kind},
                                /* Messages do not overtake each other. */
                                .arrival_ns = fmax(self->now_ns + delay, way->last_arrival_ns),
                                .depth = self->depth + 1,
                                .count = count};
    memcpy(message->words, words, (size_t)count * sizeof *words);
    way->last_arrival_ns = message->arrival_ns;

    struct message **end = &receiver->inbox;
    while (*end != NULL)
        end = &(*end)->next;
    *end = message;
    if (receiver->waiting && matches(&receiver->wanted, &message->envelope)) {
        receiver->waiting = 0;
        make_ready(receiver);
    }
    return MPI_SUCCESS;
}

static struct message *take(const struct envelope *wanted) {
    for (struct message **place = &self->inbox; *place != NULL; place = &(*place)->next)
        if (matches(&(*place)->envelope, wanted)) {
            struct message *message = *place;
            *place = message->next;
            return message;
        }
    return NULL;
}

static int receive_words(int group, enum kind kind, int64_t *words, int count, int rank) {
    const struct envelope wanted = {.source = process_of(group, rank), .group = group, .kind = kind};
    struct message *message = take(&wanted);
    if (message == NULL) {
        self->wanted = wanted;
        self->waiting = 1;
        pass_turn(self->world);
        await_turn();
        message = take(&wanted);
    }
    CHECK(message != NULL);
    CHECK_THAT(message->count, ==, count);
    memcpy(words, message->words, (size_t)count * sizeof *words);
    self->now_ns = fmax(self->now_ns, message->arrival_ns) + self->world->model.network.overhead_ns;
    if (message->depth > self->depth)
        self->depth = message->depth;
    free(message);
    return MPI_SUCCESS;
}

static void count_message(const struct db_channel *channel) {
    if (channel->messages != NULL)
        ++*channel->messages;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination) {
    count_message(channel);
    return send_words(group_of(channel), MESSAGE, words, count, destination);
}

int db_receive(const struct db_channel *channel, int64_t *words, int count, int source) {
    count_message(channel);
    return receive_words(group_of(channel), MESSAGE, words, count, source);
}

/* Collective operations are binomial trees: the parent of a rank is the rank without its lowest bit. */

/* The number of ranks in the subtree of `rank`, itself included, where the group is large enough: its lowest bit. */
static int subtree(int rank, int size) {
    int step = 1;
    while (step < size && (rank & step) == 0)
        step *= 2;
    return step;
}

int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count) {
    int number = group_of(channel);
    const struct group *group = &self->world->groups[number];
    int rank = group->rank_of[self->index];
    int64_t *most = allocate((size_t)count, sizeof *most);
    int64_t *theirs = allocate((size_t)count, sizeof *theirs);
    memcpy(most, words, (size_t)count * sizeof *most);
    for (int step = 1; step < subtree(rank, group->size) && rank + step < group->size; step *= 2) {
        DB_TRY(receive_words(number, COLLECTIVE, theirs, count, rank + step));
        for (int i = 0; i < count; ++i)
            if (theirs[i] > most[i])
                most[i] = theirs[i];
    }
    if (rank != 0)
        DB_TRY(send_words(number, COLLECTIVE, most, count, rank - subtree(rank, group->size)));
    else
        memcpy(result, most, (size_t)count * sizeof *most);
    free(theirs);
    free(most);
    return MPI_SUCCESS;
}

int db_broadcast(const struct db_channel *channel, int64_t *words, int count) {
    int number = group_of(channel);
    const struct group *group = &self->world->groups[number];
    int rank = group->rank_of[self->index];
    int reach = subtree(rank, group->size);
    if (rank != 0)
        DB_TRY(receive_words(number, COLLECTIVE, words, count, rank - reach));
    for (int step = reach / 2; step >= 1; step /= 2)
        if (rank + step < group->size)
            DB_TRY(send_words(number, COLLECTIVE, words, count, rank + step));
    return MPI_SUCCESS;
}

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count) {
    int number = group_of(channel);
    const struct group *group = &self->world->groups[number];
    int rank = group->rank_of[self->index];
    int reach = subtree(rank, group->size);
    int ranks = rank + reach < group->size ? reach : group->size - rank;
    size_t block = (size_t)count;
    int64_t *blocks = allocate(block * (size_t)ranks, sizeof *blocks);
    if (rank == 0)
        memcpy(blocks, words, block * (size_t)ranks * sizeof *blocks);
    else
        DB_TRY(receive_words(number, COLLECTIVE, blocks, count * ranks, rank - reach));
    for (int step = reach / 2; step >= 1; step /= 2)
        if (step < ranks) {
            int theirs = 2 * step < ranks ? step : ranks - step;
            DB_TRY(send_words(number, COLLECTIVE, blocks + block * (size_t)step, count * theirs, rank + step));
        }
    memcpy(mine, blocks, block * sizeof *mine);
    free(blocks);
    return MPI_SUCCESS;
}

static void *live(void *argument) {
    self = argument;
    await_turn();
    self->world->body(self->index, self->world->argument);
    pass_turn(self->world);
    return NULL;
}

/* All on the processor of the caller: as one runs at a time there is nothing to gain from another one, and to wake a
 * thread there costs several times as much. */
static void set_attributes(pthread_attr_t *attributes) {
    cpu_set_t here;
    int processor = sched_getcpu();
    CHECK(processor >= 0);
    CPU_ZERO(&here);
    CPU_SET((size_t)processor, &here);
    CHECK(pthread_attr_init(attributes) == 0);
    CHECK(pthread_attr_setstacksize(attributes, STACK_BYTES) == 0);
    CHECK(pthread_attr_setaffinity_np(attributes, sizeof here, &here) == 0);
}

void virtual_run(struct virtual_world *world, void (*body)(int process, void *argument), void *argument) {
    pthread_attr_t attributes;
    set_attributes(&attributes);
    world->body = body;
    world->argument = argument;
    world->first_ready = NULL;
    world->last_ready = &world->first_ready;
    for (int i = 0; i < world->size; ++i) {
        struct process *process = &world->processes[i];
        process->depth = 0;
        for (int j = 0; j < world->size; ++j)
            process->ways[j].sent_in_run = 0;
        set_clock(process, &world->model);
    }
    for (int i = 0; i < world->size; ++i) {
        struct process *process = &world->processes[i];
        CHECK(pthread_create(&process->thread, &attributes, live, process) == 0);
        make_ready(process);
    }
    pass_turn(world);
    for (int i = 0; i < world->size; ++i)
        CHECK(pthread_join(world->processes[i].thread, NULL) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    for (int i = 0; i < world->size; ++i)
        CHECK(world->processes[i].inbox == NULL);
}

const struct db_clock *virtual_clock(void) {
    CHECK(self != NULL);
    return &self->clock;
}

double virtual_now(const struct virtual_world *world) {
    double now_ns = 0.0;
    for (int i = 0; i < world->size; ++i)
        now_ns = fmax(now_ns, world->processes[i].now_ns);
    return now_ns;
}

void virtual_pass_until(struct virtual_world *world, double true_ns) {
    CHECK_THAT(true_ns, >=, virtual_now(world));
    for (int i = 0; i < world->size; ++i)
        world->processes[i].now_ns = true_ns;
}

long virtual_depth(const struct virtual_world *world) {
    long depth = 0;
    for (int i = 0; i < world->size; ++i)
        if (world->processes[i].depth > depth)
            depth = world->processes[i].depth;
    return depth;
}

long virtual_messages(const struct virtual_world *world) {
    long messages = 0;
    for (int i = 0; i < world->size; ++i)
        for (int j = 0; j < world->size; ++j)
            messages += virtual_messages_between(world, i, j);
    return messages;
}

long virtual_messages_between(const struct virtual_world *world, int source, int destination) {
    return world->processes[source].ways[destination].sent_in_run;
}

int64_t virtual_ticks(struct virtual_world *world, int process, double true_ns) {
    return BASE_TICKS + (int64_t)floor(ticks_at(virtual_oscillator(world, process), true_ns));
}

double virtual_global_ns(struct virtual_world *world, int process, const struct db_clock_map *map, double true_ns) {
    double ticks = ticks_at(virtual_oscillator(world, process), true_ns) - (double)(map->ticks - BASE_TICKS);
    return ticks * map->ns_per_tick + (double)map->global_ns;
}
