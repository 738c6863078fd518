/* Transport of reports to process 0, of its decision to the others, and of the entries that all processes exchange:
 *
 *   messages  a reduction and a broadcast of MPI, as published (Schuchart 2023, Alg. 1); no exchange
 *   shared    a tree of cache lines, where all processes share memory; dissemination through such lines
 *   nodes     such a tree within each node, messages between their leaders
 *
 * Within a node a message takes 0.5 us and a line a tenth of that, and the slack, which must cover it, is shorter
 * accordingly. An exchange takes half as long as a report and a decision. */
#ifndef DOWNBEAT_TRANSPORT_H
#define DOWNBEAT_TRANSPORT_H

#include "start/neighbors.h"

enum db_transport_kind { DB_TRANSPORT_AUTO, DB_TRANSPORT_MESSAGES, DB_TRANSPORT_SHARED, DB_TRANSPORT_NODES };

#define DB_MAX_CHILDREN (2 * DB_TREE_DEGREE)

/* A process's neighbors in the tree of its node, by index. */
struct db_branch {
    int parent; /* -1 for the leader */
    int count;
    int children[DB_MAX_CHILDREN];
};

struct db_transport {
    enum db_transport_kind kind;   /* never DB_TRANSPORT_AUTO */
    struct db_neighbors neighbors; /* `size` is 0 before db_neighbors_find */
    struct db_branch branch;
    uint32_t round;     /* current round of reports and decisions */
    uint32_t exchanged; /* current round of exchanges */
};

/* Sets up the transport `wanted` between `processes`, or messages if it is not available. Collective. */
int db_transport_begin(struct db_transport *transport, const struct db_channel *channel, int processes,
                       enum db_transport_kind wanted, int one_node);

void db_transport_free(struct db_transport *transport);

/* Elementwise maximum over all processes, at process 0, once all have called. `result` is significant there only.
 * `channel` is that of all processes. */
int db_transport_gather(struct db_transport *transport, const struct db_channel *channel, const int64_t *words,
                        int64_t *result, int count);

/* Broadcasts process 0's words. Must follow a gather: only a process's report proves that it has read the previous
 * words. */
int db_transport_spread(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count);

/* Elementwise maximum over all processes, everywhere, in place. Not for DB_TRANSPORT_MESSAGES. */
int db_transport_exchange(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count);

/* The branch of process `index` in the tree of `size` processes. The first processes of all caches form a tree; under
 * each, the processes that share its cache form another. A process has at most DB_TREE_DEGREE children in each. */
struct db_branch db_branch_of(int index, int size, const int64_t *caches);

#endif
