/* In place of mailbox.c and neighbors.c: nodes whose processes share memory, and what its lines cost. */
#include "check.h"
#include "start/neighbors.h"
#include "virtual_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PER_CACHE 8 /* processors that share a last-level cache */
/* From a write to the end of a read that waits for it, under one cache and between caches; another reader of the line,
 * or the read of another that is there. */
#define NEAR_NS 40.0
#define FAR_NS 120.0
#define NEXT_NS 20.0

/* A mailbox, as the world sees it. */
struct cell {
    int writer;
    double written_ns;
    double free_ns; /* of readers that came before */
    struct process *waiting[DB_CACHE_LINE];
    int count;
};

struct virtual_memory {
    struct db_channel leaders;
    struct db_channel *members; /* by node */
    struct db_mailbox *boxes;   /* those of each node, one node after another */
    size_t count;               /* of each process's */
    struct cell *cells;         /* by box */
    int64_t *caches;
};

static int per_node(const struct virtual_world *world) { return world->model.per_node; }

static int node_size(const struct virtual_world *world, int node) {
    int rest = world->size - node * per_node(world);
    return rest < per_node(world) ? rest : per_node(world);
}

int virtual_nodes(const struct virtual_world *world) { return (world->size + per_node(world) - 1) / per_node(world); }

void virtual_memory_create(struct virtual_world *world) {
    if (per_node(world) < 2)
        return;
    size_t size = (size_t)world->size;
    int nodes = virtual_nodes(world);
    struct virtual_memory *memory = virtual_allocate(1, sizeof *memory);
    memory->members = virtual_allocate((size_t)nodes, sizeof *memory->members);
    memory->count = (size_t)db_neighbors_lines(per_node(world));
    size_t boxes = memory->count * size;
    memory->boxes = aligned_alloc(_Alignof(struct db_mailbox), boxes * sizeof *memory->boxes);
    CHECK(memory->boxes != NULL);
    memset(memory->boxes, 0, boxes * sizeof *memory->boxes);
    memory->cells = virtual_allocate(boxes, sizeof *memory->cells);
    memory->caches = virtual_allocate(size, sizeof *memory->caches);
    int *ranks = virtual_allocate(size, sizeof *ranks);
    for (int node = 0; node < nodes; ++node) {
        for (int i = 0; i < node_size(world, node); ++i) {
            int process = ranks[i] = node * per_node(world) + i;
            memory->caches[process] = i / PER_CACHE;
            *virtual_oscillator(world, process) = *virtual_oscillator(world, node * per_node(world));
        }
        memory->members[node] = virtual_channel(world, ranks, node_size(world, node));
    }
    for (int node = 0; node < nodes; ++node)
        ranks[node] = node * per_node(world);
    memory->leaders = virtual_channel(world, ranks, nodes);
    free(ranks);
    world->memory = memory;
}

void virtual_memory_free(struct virtual_world *world) {
    if (world->memory == NULL)
        return;
    free(world->memory->members);
    free(world->memory->boxes);
    free(world->memory->cells);
    free(world->memory->caches);
    free(world->memory);
}

struct db_channel virtual_members(const struct virtual_world *world, int process) {
    return world->memory->members[process / per_node(world)];
}

struct db_channel virtual_leaders(const struct virtual_world *world, int process) {
    struct db_channel leaders = world->memory->leaders;
    if (process % per_node(world) != 0)
        leaders.comm = MPI_COMM_NULL;
    return leaders;
}

int db_neighbors_find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node) {
    struct virtual_world *world = virtual_self->world;
    int process = virtual_self->index;
    (void)one_node;
    *neighbors = (struct db_neighbors){.size = 1, .nodes = virtual_size(channel), .leaders = *channel};
    neighbors->leaders.comm = MPI_COMM_NULL;
    if (world->memory == NULL)
        return MPI_SUCCESS;
    int node = process / per_node(world);
    int first = node * per_node(world);
    neighbors->nodes = virtual_nodes(world);
    struct db_mailbox *boxes = world->memory->boxes + world->memory->count * (size_t)first;
    db_neighbors_lay_out(neighbors, boxes, process - first, node_size(world, node));
    neighbors->segment.memory = boxes;
    neighbors->caches = world->memory->caches + first;
    if (neighbors->nodes > 1)
        neighbors->leaders = virtual_leaders(world, process);
    return MPI_SUCCESS;
}

void db_neighbors_free(struct db_neighbors *neighbors) { (void)neighbors; }

static struct cell *cell_of(const struct db_mailbox *mailbox) {
    const struct virtual_memory *memory = virtual_self->world->memory;
    return &memory->cells[mailbox - memory->boxes];
}

void db_mailbox_publish(struct db_mailbox *mailbox, uint32_t round, const int64_t *words, int count,
                        const struct db_channel *channel) {
    struct cell *cell = cell_of(mailbox);
    (void)channel;
    virtual_work(NEXT_NS);
    memcpy(mailbox->words, words, (size_t)count * sizeof *words);
    mailbox->round = round;
    cell->writer = virtual_self->index;
    cell->written_ns = cell->free_ns = virtual_self->now_ns;
    for (int i = 0; i < cell->count; ++i)
        virtual_make_ready(cell->waiting[i]);
    cell->count = 0;
}

int db_mailbox_await(struct db_mailbox *mailbox, uint32_t round, int64_t *words, int count,
                     const struct db_channel *channel) {
    struct cell *cell = cell_of(mailbox);
    const int64_t *caches = virtual_self->world->memory->caches;
    (void)channel;
    while (mailbox->round != round) {
        CHECK_THAT(cell->count, <, DB_CACHE_LINE);
        cell->waiting[cell->count++] = virtual_self;
        virtual_suspend();
    }
    memcpy(words, mailbox->words, (size_t)count * sizeof *words);
    double there_ns = cell->free_ns + (caches[cell->writer] == caches[virtual_self->index] ? NEAR_NS : FAR_NS);
    cell->free_ns += NEXT_NS;
    virtual_rest_until(fmax(there_ns, virtual_self->now_ns + NEXT_NS));
    return MPI_SUCCESS;
}
