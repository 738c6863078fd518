/* Transport of words between processes (transport.h): by messages of MPI, or by lines of shared memory in a tree or a
 * dissemination pattern. */
#include "start/transport.h"

#include "base/error.h"

#include <string.h>

/* Returns 1 if no process with a lower index shares the cache of process `index`. */
static int is_first_of_cache(int index, const int64_t *caches) {
    for (int i = 0; i < index; ++i)
        if (caches[i] == caches[index])
            return 0;
    return 1;
}

/* Returns 1 if `parent` is the parent of `child` in a DB_TREE_DEGREE-ary heap, where process 0 is the root. */
static int is_parent(int parent, int child) { return child > 0 && (child - 1) / DB_TREE_DEGREE == parent; }

struct db_branch db_branch_of(int index, int size, const int64_t *caches) {
    struct db_branch branch = {.parent = -1};
    const int first = is_first_of_cache(index, caches);
    int group = 0;  /* heap position of this process's cache among all caches */
    int member = 0; /* heap position of this process among the processes of its cache */
    for (int i = 0; i < index; ++i) {
        group += is_first_of_cache(i, caches);
        member += caches[i] == caches[index];
    }
    int groups = 0;
    int members = 0;
    for (int i = 0; i < size; ++i) {
        int parent = 0; /* 1 if process i is the parent of this process in one of the two trees */
        int child = 0;  /* 1 if it is a child */
        if (is_first_of_cache(i, caches)) {
            parent |= first && is_parent(groups, group);
            child |= first && is_parent(group, groups);
            ++groups;
        }
        if (caches[i] == caches[index]) {
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

/* Sets this process's branch. All processes have stored their caches before (db_neighbors_find). */
static void find_branch(struct db_transport *transport) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    transport->round = 0;
    transport->branch = (struct db_branch){.parent = -1};
    if (neighbors->segment.memory != NULL)
        transport->branch = db_branch_of(neighbors->index, neighbors->size, neighbors->caches);
}

int db_transport_begin(struct db_transport *transport, const struct db_channel *channel, int processes,
                       enum db_transport_kind requested, int one_node) {
    db_transport_free(transport);
    if (requested == DB_TRANSPORT_MESSAGES)
        return MPI_SUCCESS;
    DB_TRY(db_neighbors_find(&transport->neighbors, channel, one_node));
    if (transport->neighbors.nodes == 1 && processes > 1)
        transport->kind = DB_TRANSPORT_SHARED;
    else if (transport->neighbors.nodes < processes && requested != DB_TRANSPORT_SHARED)
        transport->kind = DB_TRANSPORT_NODES;
    if (transport->kind == DB_TRANSPORT_MESSAGES)
        db_neighbors_free(&transport->neighbors);
    else
        find_branch(transport);
    return MPI_SUCCESS;
}

void db_transport_free(struct db_transport *transport) {
    if (transport->neighbors.size > 0)
        db_neighbors_free(&transport->neighbors);
    memset(transport, 0, sizeof *transport);
    transport->kind = DB_TRANSPORT_MESSAGES;
}

/* Raises each of the `maxima` to the word at the same index. */
static void raise_to(int64_t *maxima, const int64_t *words, int count) {
    for (int i = 0; i < count; ++i)
        maxima[i] = words[i] > maxima[i] ? words[i] : maxima[i];
}

/* Reduces `maxima` within the node. The leader gets the maximum of the node; other processes get that of their subtree.
 */
static int gather_in_node(struct db_transport *transport, const struct db_channel *channel, int64_t *maxima,
                          int count) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    const struct db_branch *branch = &transport->branch;
    int64_t received[DB_MAILBOX_WORDS];
    ++transport->round;
    for (int i = 0; i < branch->count; ++i) {
        DB_TRY(db_mailbox_await(&neighbors->reports[branch->children[i]], transport->round, received, count, channel));
        raise_to(maxima, received, count);
    }
    if (branch->parent >= 0)
        db_mailbox_publish(&neighbors->reports[neighbors->index], transport->round, maxima, count, channel);
    return MPI_SUCCESS;
}

/* Broadcasts the leader's words within its node. */
static int spread_in_node(const struct db_transport *transport, const struct db_channel *channel, int64_t *words,
                          int count) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    const struct db_branch *branch = &transport->branch;
    if (branch->parent >= 0)
        DB_TRY(db_mailbox_await(&neighbors->decisions[branch->parent], transport->round, words, count, channel));
    if (branch->count > 0)
        db_mailbox_publish(&neighbors->decisions[neighbors->index], transport->round, words, count, channel);
    return MPI_SUCCESS;
}

/* True on the process of each node that exchanges messages with other nodes for it. */
static int is_leader_of_many_nodes(const struct db_transport *transport) {
    return transport->kind == DB_TRANSPORT_NODES && transport->branch.parent < 0;
}

int db_transport_gather(struct db_transport *transport, const struct db_channel *channel, const int64_t *words,
                        int64_t *result, int count) {
    int64_t maxima[DB_MAILBOX_WORDS];
    if (transport->kind == DB_TRANSPORT_MESSAGES)
        return db_reduce_max(channel, words, result, count);
    memcpy(maxima, words, (size_t)count * sizeof *maxima);
    DB_TRY(gather_in_node(transport, channel, maxima, count));
    if (is_leader_of_many_nodes(transport))
        return db_reduce_max(&transport->neighbors.leaders, maxima, result, count);
    memcpy(result, maxima, (size_t)count * sizeof *maxima);
    return MPI_SUCCESS;
}

int db_transport_spread(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count) {
    if (transport->kind == DB_TRANSPORT_MESSAGES)
        return db_broadcast(channel, words, count);
    if (is_leader_of_many_nodes(transport))
        DB_TRY(db_broadcast(&transport->neighbors.leaders, words, count));
    return spread_in_node(transport, channel, words, count);
}

/* Dissemination algorithm with radix DB_EXCHANGE_RADIX (Hensgen, Finkel, Manber 1988): on each level the distance of
 * the peers is DB_EXCHANGE_RADIX times that of the previous level. A process may be one round ahead of its readers,
 * never two; so each level has two lines per process, for even and odd rounds. */
static int disseminate(struct db_transport *transport, const struct db_channel *channel, int64_t *maxima, int count) {
    const struct db_neighbors *neighbors = &transport->neighbors;
    const uint32_t round = ++transport->exchange_round;
    const int size = neighbors->size;
    struct db_mailbox *lines = neighbors->exchanges + (round % 2 != 0 ? size : 0);
    int64_t received[DB_MAILBOX_WORDS];
    for (int step = 1; step < size; step *= DB_EXCHANGE_RADIX, lines += (ptrdiff_t)2 * size) {
        db_mailbox_publish(&lines[neighbors->index], round, maxima, count, channel);
        for (int i = 1; i < DB_EXCHANGE_RADIX && i * step < size; ++i) {
            DB_TRY(db_mailbox_await(&lines[(neighbors->index + i * step) % size], round, received, count, channel));
            raise_to(maxima, received, count);
        }
    }
    return MPI_SUCCESS;
}

int db_transport_exchange(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count) {
    if (transport->kind == DB_TRANSPORT_SHARED)
        return disseminate(transport, channel, words, count);
    DB_TRY(gather_in_node(transport, channel, words, count));
    if (is_leader_of_many_nodes(transport))
        DB_TRY(db_allreduce_max(&transport->neighbors.leaders, words, count));
    return spread_in_node(transport, channel, words, count);
}
