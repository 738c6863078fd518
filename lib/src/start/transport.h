/* How reports reach process 0, and its decision the others; and how all exchange what they need to decide alike:
 *
 *   messages  a reduction and a broadcast of MPI, as published (Schuchart 2023, Alg. 1); no exchange
 *   shared    a tree of cache lines, where all processes share memory; dissemination through such lines
 *   nodes     such a tree within each node, messages between their leaders
 *
 * A message within a node takes half a microsecond and a line a tenth of that, so the slack, which has to cover it, is
 * as much shorter. An exchange takes half as long as a report and a decision. */
#ifndef DOWNBEAT_TRANSPORT_H
#define DOWNBEAT_TRANSPORT_H

#include "start/neighbors.h"

enum db_transport_kind { DB_TRANSPORT_AUTO, DB_TRANSPORT_MESSAGES, DB_TRANSPORT_SHARED, DB_TRANSPORT_NODES };

#define DB_MOST_CHILDREN (2 * DB_TREE_DEGREE)

/* This process's place in the tree of its node. */
struct db_branch {
    int parent; /* -1: the leader has none */
    int count;
    int children[DB_MOST_CHILDREN];
};

struct db_transport {
    enum db_transport_kind kind;   /* in force: not DB_TRANSPORT_AUTO */
    struct db_neighbors neighbors; /* `size` is 0 until lines are looked for; without memory where none are */
    struct db_branch branch;
    uint32_t round;     /* of reports and decisions */
    uint32_t exchanged; /* rounds of exchanges */
};

/* Sets up the transport `wanted` between `processes`, or messages where it is not available. Collective. */
int db_transport_begin(struct db_transport *transport, const struct db_channel *channel, int processes,
                       enum db_transport_kind wanted, int one_node);

void db_transport_free(struct db_transport *transport);

/* The elementwise maximum of all processes' words, at process 0, once all have called. `result` is used there only.
 * `channel` is that of all processes. */
int db_transport_gather(struct db_transport *transport, const struct db_channel *channel, const int64_t *words,
                        int64_t *result, int count);

/* Process 0's words, everywhere. Must follow a gather: only a process's report proves that it has read the previous
 * words. */
int db_transport_spread(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count);

/* The elementwise maximum of all processes' words, in their place, at every process. Not for DB_TRANSPORT_MESSAGES. */
int db_transport_exchange(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count);

/* The branch of a process in the tree of `size` processes: under one process for each cache, the others that use it. A
 * process has at most DB_TREE_DEGREE children of each sort. */
struct db_branch db_branch_of(int place, int size, const int64_t *caches);

#endif
