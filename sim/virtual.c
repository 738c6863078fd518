#define _GNU_SOURCE
#include "virtual.h"

#include "check.h"
#include "error.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) 0
#define VALGRIND_STACK_DEREGISTER(id) (void)(id)
#endif

#define TWO_PI 6.283185307179586

/* A counter that has run for a week or two: too large for a double to keep its nanoseconds. */
#define BASE_TICKS ((int64_t)1 << 51)

/* Only what is touched of it takes memory. Not a power of two: what all stacks have at the same depth would fall into
 * the same few lines of the caches. */
#define STACK_BYTES ((size_t)257 * 1024 + 192)
/* At the end of a stack, to be found as it was. */
#define SENTINEL UINT64_C(0x5afe57ac6b0770d1)

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

/* The way from one process to another. */
struct way {
    int destination; /* -1: no way is kept here */
    long sent_in_run;
    uint64_t sent; /* numbers the delays: never reset */
    double last_arrival_ns;
};

/* Where a coroutine, or the scheduler, goes on. */
struct context {
    ucontext_t place;
    void *stack;
    size_t stack_bytes;
    void *shadow; /* the sanitizer's, of this stack */
};

struct process {
    struct virtual_world *world;
    int index;
    struct context context;
    int done;
    struct process *next_ready; /* in the queue of those whose turn will come */
    struct message *inbox;      /* in the order of sending */
    struct message **inbox_end; /* where the next one is put */
    int waiting;
    struct envelope wanted; /* while waiting */

    double now_ns; /* true time */
    long depth;
    struct virtual_oscillator oscillator;
    struct db_clock clock;
    uint64_t pauses; /* random numbers for them */
    double next_pause_ns;

    /* To those that it has sent to, which are few: a table, open addressing, its size a power of two. */
    struct way *ways;
    int ways_size;
    int ways_used;
};

struct virtual_world {
    struct virtual_model model;
    int size;
    struct process *processes;
    struct group *groups;
    int group_count;

    /* One process runs at a time, until it waits for a message or is done. */
    struct context scheduler;
    struct process *first_ready;
    struct process **last_ready; /* where the next one is put */
    void (*body)(int process, void *argument);
    void *argument;
};

/* The process that runs. */
static struct process *self;

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

/* The next pause begins after a random time. */
static void draw_pause(struct process *process, double from_ns) {
    double every_ns = process->world->model.pause_every_ns;
    process->next_pause_ns = every_ns > 0.0 ? from_ns - every_ns * log(uniform(&process->pauses)) : (double)INFINITY;
}

/* Something takes this process some time: a pause comes on top. */
static void work(double ns) {
    self->now_ns += ns;
    while (self->now_ns >= self->next_pause_ns) {
        self->now_ns += self->world->model.pause_ns;
        draw_pause(self, self->now_ns);
    }
}

/* Nothing to do until `true_ns`: a pause matters only where it lasts longer. */
static void rest_until(double true_ns) {
    if (true_ns <= self->now_ns)
        return;
    self->now_ns = true_ns;
    while (self->now_ns >= self->next_pause_ns) {
        double over_ns = self->next_pause_ns + self->world->model.pause_ns;
        self->now_ns = fmax(self->now_ns, over_ns);
        draw_pause(self, over_ns);
    }
}

/* The place of a way in the table, or the free one where it belongs. */
static struct way *place_of(const struct process *process, int destination) {
    unsigned mask = (unsigned)process->ways_size - 1;
    unsigned place = (unsigned)destination * 2654435761U & mask;
    while (process->ways[place].destination != -1 && process->ways[place].destination != destination)
        place = (place + 1) & mask;
    return &process->ways[place];
}

static void make_room(struct process *process) {
    struct way *old = process->ways;
    int size = process->ways_size;
    process->ways_size = size == 0 ? 8 : 2 * size;
    process->ways = allocate((size_t)process->ways_size, sizeof *process->ways);
    for (int i = 0; i < process->ways_size; ++i)
        process->ways[i].destination = -1;
    for (int i = 0; i < size; ++i)
        if (old[i].destination != -1)
            *place_of(process, old[i].destination) = old[i];
    free(old);
}

static struct way *way_to(struct process *process, int destination) {
    if (2 * process->ways_used >= process->ways_size)
        make_room(process);
    struct way *way = place_of(process, destination);
    if (way->destination == -1) {
        way->destination = destination;
        ++process->ways_used;
    }
    return way;
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
    double ramp_ns = oscillator->ramp * 1e-9 * true_ns * true_ns / 2.0;
    return (true_ns + oscillator->offset_ns + oscillator->skew * true_ns + ramp_ns + wander_ns) /
           oscillator->ns_per_tick;
}

static int64_t read_ticks(const struct db_clock *clock) {
    CHECK(self != NULL && clock->ns_per_tick == self->clock.ns_per_tick);
    work(self->world->model.read_ns / 2.0);
    int64_t ticks = BASE_TICKS + (int64_t)floor(ticks_at(&self->oscillator, self->now_ns));
    work(self->world->model.read_ns / 2.0);
    return ticks;
}

/* Reads as the library's clocks do, but skips nearly all that is left: no clock is off by a thousandth. */
static int64_t wait_until(const struct db_clock *clock, int64_t ticks) {
    int64_t reading = read_ticks(clock);
    while (reading < ticks) {
        rest_until(self->now_ns + 0.999 * (double)(ticks - reading) * self->oscillator.ns_per_tick);
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
    process->pauses = stream(~model->seed, (uint64_t)index, 1, 0);
    draw_pause(process, 0.0);
    process->oscillator = (struct virtual_oscillator){.offset_ns = model->offset_ns * symmetric(&state),
                                                      .skew = model->skew * symmetric(&state),
                                                      .wander = model->wander,
                                                      .ns_per_tick = model->ns_per_tick,
                                                      .calibration = model->calibration * symmetric(&state)};
    for (int i = 0; i < VIRTUAL_SINES; ++i)
        process->oscillator.phase[i] = TWO_PI * uniform(&state);
    process->oscillator.ramp = model->ramp * symmetric(&state);
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
    for (int i = 0; i < world->size; ++i)
        free(world->processes[i].ways);
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

int virtual_rank(const struct db_channel *channel) {
    return self->world->groups[group_of(channel)].rank_of[self->index];
}

int virtual_size(const struct db_channel *channel) { return self->world->groups[group_of(channel)].size; }

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

/* Goes on at `to`; returns when somebody goes on at `from`. A process that is done never does. */
static void switch_to(struct context *from, struct context *to, int done) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(done ? NULL : &from->shadow, to->stack, to->stack_bytes);
#else
    (void)done;
#endif
    CHECK(swapcontext(&from->place, &to->place) == 0);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(from->shadow, NULL, NULL);
#endif
}

static int send_words(int group, enum kind kind, const int64_t *words, int count, int rank) {
    int destination = process_of(group, rank);
    struct process *receiver = &self->world->processes[destination];
    struct way *way = way_to(self, destination);
    struct message *message = malloc(sizeof *message + (size_t)count * sizeof *words);
    CHECK(message != NULL);

    work(self->world->model.network.overhead_ns);
    ++way->sent_in_run;
    double delay = delay_ns(self->world, self->index, destination, way->sent++);
    *message = (struct message){.envelope = {.source = self->index, .group = group, .kind = kind},
                                /* Messages do not overtake each other. */
                                .arrival_ns = fmax(self->now_ns + delay, way->last_arrival_ns),
                                .depth = self->depth + 1,
                                .count = count};
    memcpy(message->words, words, (size_t)count * sizeof *words);
    way->last_arrival_ns = message->arrival_ns;

    *receiver->inbox_end = message;
    receiver->inbox_end = &message->next;
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
            if (message->next == NULL)
                self->inbox_end = place;
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
        struct process *waiting = self;
        switch_to(&waiting->context, &waiting->world->scheduler, 0);
        message = take(&wanted);
    }
    CHECK(message != NULL);
    CHECK_THAT(message->count, ==, count);
    memcpy(words, message->words, (size_t)count * sizeof *words);
    rest_until(message->arrival_ns);
    work(self->world->model.network.overhead_ns);
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

static void live(void) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, (const void **)&self->world->scheduler.stack,
                                    &self->world->scheduler.stack_bytes);
#endif
    self->world->body(self->index, self->world->argument);
    struct process *over = self;
    over->done = 1;
    switch_to(&over->context, &over->world->scheduler, 1);
}

/* Prepares a process to run from the beginning of its body. */
static void set_out(struct process *process, char *stack) {
    process->done = 0;
    process->depth = 0;
    process->inbox_end = &process->inbox;
    for (int i = 0; i < process->ways_size; ++i)
        process->ways[i].sent_in_run = 0;
    set_clock(process, &process->world->model);

    const uint64_t sentinel = SENTINEL;
    memcpy(stack, &sentinel, sizeof sentinel);
    process->context = (struct context){.stack = stack, .stack_bytes = STACK_BYTES};
    CHECK(getcontext(&process->context.place) == 0);
    process->context.place.uc_stack.ss_sp = stack;
    process->context.place.uc_stack.ss_size = STACK_BYTES;
    process->context.place.uc_link = NULL;
    makecontext(&process->context.place, live, 0);
    make_ready(process);
}

static void run_all(struct virtual_world *world) {
    while (world->first_ready != NULL) {
        self = world->first_ready;
        world->first_ready = self->next_ready;
        if (world->first_ready == NULL)
            world->last_ready = &world->first_ready;
        switch_to(&world->scheduler, &self->context, 0);
    }
    self = NULL;
}

static void check_all_done(const struct virtual_world *world) {
    int stuck = 0;
    for (int i = 0; i < world->size; ++i) {
        const struct process *process = &world->processes[i];
        uint64_t sentinel;
        memcpy(&sentinel, process->context.stack, sizeof sentinel);
        CHECK(sentinel == SENTINEL);
        if (!process->done)
            fprintf(stderr, "deadlock: process %d waits for %d\n", i, process->wanted.source);
        stuck |= !process->done;
    }
    if (stuck)
        check_fail();
    for (int i = 0; i < world->size; ++i)
        CHECK(world->processes[i].inbox == NULL);
}

void virtual_run(struct virtual_world *world, void (*body)(int process, void *argument), void *argument) {
    size_t bytes = (size_t)world->size * STACK_BYTES;
    char *stacks =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    CHECK(stacks != MAP_FAILED);
    unsigned *registered = allocate((size_t)world->size, sizeof *registered);
    world->body = body;
    world->argument = argument;
    world->first_ready = NULL;
    world->last_ready = &world->first_ready;
    for (int i = 0; i < world->size; ++i) {
        char *stack = stacks + (size_t)i * STACK_BYTES;
        registered[i] = VALGRIND_STACK_REGISTER(stack, stack + STACK_BYTES);
        set_out(&world->processes[i], stack);
    }
    run_all(world);
    check_all_done(world);
    for (int i = 0; i < world->size; ++i)
        VALGRIND_STACK_DEREGISTER(registered[i]);
    free(registered);
    CHECK(munmap(stacks, bytes) == 0);
}

double virtual_here_ns(void) {
    CHECK(self != NULL);
    return self->now_ns;
}

void virtual_rest_until(double true_ns) {
    CHECK(self != NULL);
    rest_until(true_ns);
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
        for (int j = 0; j < world->processes[i].ways_size; ++j)
            messages += world->processes[i].ways[j].sent_in_run; /* 0 where no way is kept */
    return messages;
}

long virtual_messages_between(const struct virtual_world *world, int source, int destination) {
    const struct process *process = &world->processes[source];
    return process->ways_size == 0 ? 0 : place_of(process, destination)->sent_in_run;
}

int64_t virtual_ticks(struct virtual_world *world, int process, double true_ns) {
    return BASE_TICKS + (int64_t)floor(ticks_at(virtual_oscillator(world, process), true_ns));
}

double virtual_global_ns(struct virtual_world *world, int process, const struct db_clock_map *map, double true_ns) {
    double ticks = ticks_at(virtual_oscillator(world, process), true_ns) - (double)(map->ticks - BASE_TICKS);
    return ticks * map->ns_per_tick + (double)map->global_ns;
}
