#include "base/error.h"
#include "check.h"
#include "random.h"
#include "virtual_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct virtual_network virtual_quiet = {.overhead_ns = 100.0, .fixed_ns = 1500.0};
const struct virtual_network virtual_heavy = {
    .overhead_ns = 100.0, .fixed_ns = 1500.0, .exponential_ns = 150.0, .tail_ns = 200.0, .tail_share = 0.1};

/* The channel's communicator is not a real one: its first bytes are the number of the group, from 1. The type differs
 * between MPI libraries, but is never smaller than an int. */
struct db_channel virtual_channel(struct virtual_world *world, const int *members, int size) {
    struct group *groups = realloc(world->groups, (size_t)(world->group_count + 1) * sizeof *groups);
    CHECK(groups != NULL);
    world->groups = groups;
    struct group *group = &groups[world->group_count++];
    *group = (struct group){.size = size,
                            .members = virtual_allocate((size_t)size, sizeof *group->members),
                            .rank_of = virtual_allocate((size_t)world->size, sizeof *group->rank_of)};
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

int virtual_group_of(const struct db_channel *channel) {
    int number;
    memcpy(&number, &channel->comm, sizeof number);
    CHECK(virtual_self != NULL && number >= 1 && number <= virtual_self->world->group_count);
    CHECK(virtual_self->world->groups[number - 1].rank_of[virtual_self->index] >= 0);
    return number - 1;
}

int virtual_rank(const struct db_channel *channel) {
    return virtual_self->world->groups[virtual_group_of(channel)].rank_of[virtual_self->index];
}

int virtual_size(const struct db_channel *channel) {
    return virtual_self->world->groups[virtual_group_of(channel)].size;
}

static int process_of(int group, int rank) {
    const struct group *members = &virtual_self->world->groups[group];
    CHECK(rank >= 0 && rank < members->size && members->members[rank] != virtual_self->index);
    return members->members[rank];
}

/* The place of a path in the table, or the free one where it belongs. */
static struct path *place_of(const struct process *process, int destination) {
    unsigned mask = (unsigned)process->paths_size - 1;
    unsigned place = (unsigned)destination * 2654435761U & mask;
    while (process->paths[place].destination != -1 && process->paths[place].destination != destination)
        place = (place + 1) & mask;
    return &process->paths[place];
}

static void make_room(struct process *process) {
    struct path *old = process->paths;
    int size = process->paths_size;
    process->paths_size = size == 0 ? 8 : 2 * size;
    process->paths = virtual_allocate((size_t)process->paths_size, sizeof *process->paths);
    for (int i = 0; i < process->paths_size; ++i)
        process->paths[i].destination = -1;
    for (int i = 0; i < size; ++i)
        if (old[i].destination != -1)
            *place_of(process, old[i].destination) = old[i];
    free(old);
}

static struct path *path_to(struct process *process, int destination) {
    if (2 * process->paths_used >= process->paths_size)
        make_room(process);
    struct path *path = place_of(process, destination);
    if (path->destination == -1) {
        path->destination = destination;
        ++process->paths_used;
    }
    return path;
}

/* The delay that a path adds at an instant, 0 to 1: a value for each stretch of time. */
static double value_of(uint64_t seed, int source, int destination, double stretch) {
    uint64_t state = stream(seed, (uint64_t)source, (uint64_t)destination, (uint64_t)stretch + 1);
    return uniform(&state);
}

/* The same as a walk within bounds: straight lines between values, on top of them others twice as fast and half as
 * large in variance, and so on. */
static double walked(uint64_t seed, int source, int destination, double stretches) {
    double sum = 0.0;
    double most = 0.0;
    for (int octave = 0; octave < 6; ++octave) {
        double at = ldexp(stretches, octave);
        double share = pow(2.0, -octave / 2.0);
        double from = value_of(seed + (uint64_t)octave, source, destination, floor(at));
        double to = value_of(seed + (uint64_t)octave, source, destination, floor(at) + 1.0);
        sum += share * (from + (at - floor(at)) * (to - from));
        most += share;
    }
    return sum / most;
}

static double delay_ns(const struct virtual_world *world, int source, int destination, uint64_t number) {
    const struct virtual_network *network = &world->model.network;
    uint64_t state = stream(world->model.seed, (uint64_t)source, (uint64_t)destination, number);
    const int per_node = world->model.per_node;
    if (per_node > 1 && source / per_node == destination / per_node)
        return world->model.near_ns;
    double delay = network->fixed_ns - network->exponential_ns * log(uniform(&state));
    if (uniform(&state) <= network->tail_share) {
        double tail_ns = network->tail_ns * pow(uniform(&state), -1.0 / 1.5);
        delay += network->tail_most_ns > 0.0 ? fmin(tail_ns, network->tail_most_ns) : tail_ns;
    }
    if (source < destination)
        delay += network->upward_ns;
    if (network->asymmetry_ns > 0.0)
        delay += network->asymmetry_ns * unit_of(((uint64_t)source << 32) + (uint64_t)destination + 7);
    if (network->moving_ns + network->jumping_ns > 0.0) {
        double stretches = virtual_self->now_ns / network->moving_for_ns;
        delay += network->moving_ns * walked(world->model.seed + 1, source, destination, stretches);
        delay += network->jumping_ns * value_of(world->model.seed, source, destination, floor(stretches));
    }
    if (network->path_ns != NULL)
        delay += network->path_ns(source, destination, virtual_self->now_ns);
    return delay;
}

static int matches(const struct envelope *a, const struct envelope *b) {
    return a->source == b->source && a->group == b->group && a->kind == b->kind;
}

int virtual_send(int group, enum kind kind, const int64_t *words, int count, int rank) {
    int destination = process_of(group, rank);
    struct process *receiver = &virtual_self->world->processes[destination];
    struct path *path = path_to(virtual_self, destination);
    struct message *message = malloc(sizeof *message + (size_t)count * sizeof *words);
    CHECK(message != NULL);

    virtual_work(virtual_self->world->model.network.overhead_ns);
    ++path->sent_in_run;
    double delay = delay_ns(virtual_self->world, virtual_self->index, destination, path->sent++);
    *message = (struct message){.envelope = {.source = virtual_self->index, .group = group, .kind = kind},
                                /* Messages do not overtake each other. */
                                .arrival_ns = fmax(virtual_self->now_ns + delay, path->last_arrival_ns),
                                .depth = virtual_self->depth + 1,
                                .count = count};
    memcpy(message->words, words, (size_t)count * sizeof *words);
    path->last_arrival_ns = message->arrival_ns;

    *receiver->inbox_end = message;
    receiver->inbox_end = &message->next;
    if (receiver->waiting && matches(&receiver->wanted, &message->envelope)) {
        receiver->waiting = 0;
        virtual_make_ready(receiver);
    }
    return MPI_SUCCESS;
}

static struct message *take(const struct envelope *wanted) {
    for (struct message **place = &virtual_self->inbox; *place != NULL; place = &(*place)->next)
        if (matches(&(*place)->envelope, wanted)) {
            struct message *message = *place;
            *place = message->next;
            if (message->next == NULL)
                virtual_self->inbox_end = place;
            return message;
        }
    return NULL;
}

int virtual_receive(int group, enum kind kind, int64_t *words, int count, int rank) {
    const struct envelope wanted = {.source = process_of(group, rank), .group = group, .kind = kind};
    struct message *message = take(&wanted);
    if (message == NULL) {
        virtual_self->wanted = wanted;
        virtual_self->waiting = 1;
        virtual_suspend();
        message = take(&wanted);
    }
    CHECK(message != NULL);
    CHECK_THAT(message->count, ==, count);
    memcpy(words, message->words, (size_t)count * sizeof *words);
    virtual_rest_until(message->arrival_ns);
    virtual_work(virtual_self->world->model.network.overhead_ns);
    if (message->depth > virtual_self->depth)
        virtual_self->depth = message->depth;
    free(message);
    return MPI_SUCCESS;
}

static void count_message(const struct db_channel *channel) {
    if (channel->messages != NULL)
        ++*channel->messages;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination) {
    count_message(channel);
    return virtual_send(virtual_group_of(channel), MESSAGE, words, count, destination);
}

int db_start_send(const struct db_channel *channel, const int64_t *words, int count, int destination,
                  MPI_Request *request) {
    memset(request, 0, sizeof *request); /* no real one */
    return db_send(channel, words, count, destination);
}

int db_receive(const struct db_channel *channel, int64_t *words, int count, int source) {
    count_message(channel);
    return virtual_receive(virtual_group_of(channel), MESSAGE, words, count, source);
}

/* Sends have ended when they begin. */
int db_complete(const struct db_channel *channel, MPI_Request *request) {
    (void)channel;
    (void)request;
    return MPI_SUCCESS;
}

void virtual_forget_sent(struct process *process) {
    for (int i = 0; i < process->paths_size; ++i)
        process->paths[i].sent_in_run = 0;
}

long virtual_messages(const struct virtual_world *world) {
    long messages = 0;
    for (int i = 0; i < world->size; ++i)
        for (int j = 0; j < world->processes[i].paths_size; ++j)
            messages += world->processes[i].paths[j].sent_in_run; /* 0 where no path is kept */
    return messages;
}

long virtual_messages_between(const struct virtual_world *world, int source, int destination) {
    const struct process *process = &world->processes[source];
    return process->paths_size == 0 ? 0 : place_of(process, destination)->sent_in_run;
}

/* Collective operations are binomial trees: the parent of a rank is the rank without its lowest bit. */

/* The number of ranks in the subtree of `rank`, itself included, where the group is large enough: its lowest bit. */
static int subtree(int rank, int size) {
    int step = 1;
    while (step < size && (rank & step) == 0)
        step *= 2;
    return step;
}

static int receive_max(int group, int64_t *most, int count, int rank) {
    int64_t *theirs = virtual_allocate((size_t)count, sizeof *theirs);
    DB_TRY(virtual_receive(group, COLLECTIVE, theirs, count, rank));
    for (int i = 0; i < count; ++i)
        if (theirs[i] > most[i])
            most[i] = theirs[i];
    free(theirs);
    return MPI_SUCCESS;
}

int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int64_t *most = virtual_allocate((size_t)count, sizeof *most);
    memcpy(most, words, (size_t)count * sizeof *most);
    for (int step = 1; step < subtree(rank, group->size) && rank + step < group->size; step *= 2)
        DB_TRY(receive_max(number, most, count, rank + step));
    if (rank != 0)
        DB_TRY(virtual_send(number, COLLECTIVE, most, count, rank - subtree(rank, group->size)));
    else
        memcpy(result, most, (size_t)count * sizeof *most);
    free(most);
    return MPI_SUCCESS;
}

int db_broadcast(const struct db_channel *channel, int64_t *words, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int reach = subtree(rank, group->size);
    if (rank != 0)
        DB_TRY(virtual_receive(number, COLLECTIVE, words, count, rank - reach));
    for (int step = reach / 2; step >= 1; step /= 2)
        if (rank + step < group->size)
            DB_TRY(virtual_send(number, COLLECTIVE, words, count, rank + step));
    return MPI_SUCCESS;
}

/* Recursive doubling; ranks beyond a power of two send theirs first, and get the result last. */
int db_allreduce_max(const struct db_channel *channel, int64_t *words, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int power = 1;
    while (2 * power <= group->size)
        power *= 2;
    int partner = rank < power ? rank + power : rank - power;
    if (rank >= power) {
        DB_TRY(virtual_send(number, COLLECTIVE, words, count, partner));
        return virtual_receive(number, COLLECTIVE, words, count, partner);
    }
    if (partner < group->size)
        DB_TRY(receive_max(number, words, count, partner));
    for (int step = 1; step < power; step *= 2) {
        DB_TRY(virtual_send(number, COLLECTIVE, words, count, rank ^ step));
        DB_TRY(receive_max(number, words, count, rank ^ step));
    }
    return partner < group->size ? virtual_send(number, COLLECTIVE, words, count, partner) : MPI_SUCCESS;
}

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int reach = subtree(rank, group->size);
    int ranks = rank + reach < group->size ? reach : group->size - rank;
    size_t block = (size_t)count;
    int64_t *blocks = virtual_allocate(block * (size_t)ranks, sizeof *blocks);
    if (rank == 0)
        memcpy(blocks, words, block * (size_t)ranks * sizeof *blocks);
    else
        DB_TRY(virtual_receive(number, COLLECTIVE, blocks, count * ranks, rank - reach));
    for (int step = reach / 2; step >= 1; step /= 2)
        if (step < ranks) {
            int theirs = 2 * step < ranks ? step : ranks - step;
            DB_TRY(virtual_send(number, COLLECTIVE, blocks + block * (size_t)step, count * theirs, rank + step));
        }
    memcpy(mine, blocks, block * sizeof *mine);
    free(blocks);
    return MPI_SUCCESS;
}
