#include "start/transport.h"

#include "base/error.h"

#include <string.h>

static int is_first_of_cache(int place, const int64_t *caches) {
    for (int i = 0; i < place; ++i)
        if (caches[i] == caches[place])
            return 0;
    return 1;
}

/* In a heap, of whose places some are counted by a running number. */
static int is_parent(int parent, int child) { return child > 0 && (child - 1) / DB_TREE_DEGREE == parent; }

struct db_branch db_branch_of(int place, int size, const int64_t *caches) {
    struct db_branch branch = {.parent = -1};
    const int first = is_first_of_cache(place, caches);
    int group = 0; /* this process's numbers, of its cache and among those that share it */
    int member = 0;
    for (int i = 0; i < place; ++i) {
        group += is_first_of_cache(i, caches);
        member += caches[i] == caches[place];
    }
    int groups = 0;
    int members = 0;
    for (int i = 0; i < size; ++i) {
        int parent = 0;
        int child = 0;
        if (is_first_of_cache(i, caches)) {
            parent |= first && is_parent(groups, group);
            child |= first && is_parent(group, groups);
            ++groups;
        }
        if (caches[i] == caches[place]) {
            parent |= is_parent(members, member);
            child |= is_parent(member, members);
            ++members;
        }
        if (parent)
            branch.parent = i;
        if (child)
            branch.children[branch.count++] = i;
    }
    return branch;
}

/* Nobody changes the numbers of caches after this. */
static void take_place(struct db_transport *transport) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    transport->round = 0;
    transport->branch = (struct db_branch){.parent = -1};
    if (neighbors->segment.memory != NULL)
        transport->branch = db_branch_of(neighbors->place, neighbors->size, neighbors->caches);
}

int db_transport_begin(struct db_transport *transport, const struct db_channel *channel, int processes,
                       enum db_transport_kind wanted, int one_node) {
    db_transport_free(transport);
    if (wanted == DB_TRANSPORT_MESSAGES)
        return MPI_SUCCESS;
    DB_TRY(db_neighbors_find(&transport->neighbors, channel, one_node));
    if (transport->neighbors.nodes == 1 && processes > 1)
        transport->kind = DB_TRANSPORT_SHARED;
    else if (transport->neighbors.nodes < processes && wanted != DB_TRANSPORT_SHARED)
        transport->kind = DB_TRANSPORT_NODES;
    if (transport->kind == DB_TRANSPORT_MESSAGES)
        db_neighbors_free(&transport->neighbors);
    else
        take_place(transport);
    return MPI_SUCCESS;
}

void db_transport_free(struct db_transport *transport) {
    if (transport->neighbors.size > 0)
        db_neighbors_free(&transport->neighbors);
    memset(transport, 0, sizeof *transport);
    transport->kind = DB_TRANSPORT_MESSAGES;
}

static void raise_to(int64_t *most, const int64_t *words, int count) {
    for (int i = 0; i < count; ++i)
        most[i] = words[i] > most[i] ? words[i] : most[i];
}

/* The maximum of a node, at its leader. */
static int gather_in_node(struct db_transport *transport, const struct db_channel *channel, int64_t *most, int count) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    const struct db_branch *branch = &transport->branch;
    int64_t theirs[DB_MAILBOX_WORDS];
    ++transport->round;
    for (int i = 0; i < branch->count; ++i) {
        DB_TRY(db_mailbox_await(&neighbors->reports[branch->children[i]], transport->round, theirs, count, channel));
        raise_to(most, theirs, count);
    }
    if (branch->parent >= 0)
        db_mailbox_publish(&neighbors->reports[neighbors->place], transport->round, most, count, channel);
    return MPI_SUCCESS;
}

/* The leader's words, within its node. */
static int spread_in_node(const struct db_transport *transport, const struct db_channel *channel, int64_t *words,
                          int count) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    const struct db_branch *branch = &transport->branch;
    if (branch->parent >= 0)
        DB_TRY(db_mailbox_await(&neighbors->decisions[branch->parent], transport->round, words, count, channel));
    if (branch->count > 0)
        db_mailbox_publish(&neighbors->decisions[neighbors->place], transport->round, words, count, channel);
    return MPI_SUCCESS;
}

static int leads_one_of_many(const struct db_transport *transport) {
    return transport->kind == DB_TRANSPORT_NODES && transport->branch.parent < 0;
}

int db_transport_gather(struct db_transport *transport, const struct db_channel *channel, const int64_t *words,
                        int64_t *result, int count) {
    int64_t most[DB_MAILBOX_WORDS];
    if (transport->kind == DB_TRANSPORT_MESSAGES)
        return db_reduce_max(channel, words, result, count);
    memcpy(most, words, (size_t)count * sizeof *most);
    DB_TRY(gather_in_node(transport, channel, most, count));
    if (leads_one_of_many(transport))
        return db_reduce_max(&transport->neighbors.leaders, most, result, count);
    memcpy(result, most, (size_t)count * sizeof *most);
    return MPI_SUCCESS;
}

int db_transport_spread(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count) {
    if (transport->kind == DB_TRANSPORT_MESSAGES)
        return db_broadcast(channel, words, count);
    if (leads_one_of_many(transport))
        DB_TRY(db_broadcast(&transport->neighbors.leaders, words, count));
    return spread_in_node(transport, channel, words, count);
}

/* Dissemination: each level reads the words of peers that are DB_EXCHANGE_REACH times as far away. A process may run
 * one round ahead of its readers, never two. Hence two lines, for even and odd rounds. */
static int disseminate(struct db_transport *transport, const struct db_channel *channel, int64_t *most, int count) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    const uint32_t round = ++transport->exchanged;
    const int size = neighbors->size;
    struct db_mailbox *lines = neighbors->exchanges + (round % 2 != 0 ? size : 0);
    int64_t theirs[DB_MAILBOX_WORDS];
    for (int step = 1; step < size; step *= DB_EXCHANGE_REACH, lines += (ptrdiff_t)2 * size) {
        db_mailbox_publish(&lines[neighbors->place], round, most, count, channel);
        for (int i = 1; i < DB_EXCHANGE_REACH && i * step < size; ++i) {
            DB_TRY(db_mailbox_await(&lines[(neighbors->place + i * step) % size], round, theirs, count, channel));
            raise_to(most, theirs, count);
        }
    }
    return MPI_SUCCESS;
}

int db_transport_exchange(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count) {
    if (transport->kind == DB_TRANSPORT_SHARED)
        return disseminate(transport, channel, words, count);
    DB_TRY(gather_in_node(transport, channel, words, count));
    if (leads_one_of_many(transport))
        DB_TRY(db_allreduce_max(&transport->neighbors.leaders, words, count));
    return spread_in_node(transport, channel, words, count);
}
