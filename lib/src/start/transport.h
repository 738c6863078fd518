/* Transport of reports to process 0 (gather), of its decision to all processes (spread), and of the entries that all
 * processes exchange (decision.h). A line is a mailbox in shared memory (base/mailbox.h).
 *
 *   messages  a reduction and a broadcast of MPI, as published (Schuchart 2023, Alg. 1); no exchange
 *   shared    if all processes share memory: a tree of lines; the exchange is a dissemination through lines
 *   nodes     a tree of lines within each node, messages between the leaders of nodes
 *
 * Within a node a message takes 0.5 us and a line a tenth of that time, so the slack, which must cover it, is shorter,
 * too. An exchange takes half as long as a report and a decision. */
#ifndef DOWNBEAT_TRANSPORT_H
#define DOWNBEAT_TRANSPORT_H

#include "start/neighbors.h"

enum db_transport_kind { DB_TRANSPORT_AUTO, DB_TRANSPORT_MESSAGES, DB_TRANSPORT_SHARED, DB_TRANSPORT_NODES };

#define DB_MAX_CHILDREN (2 * DB_TREE_DEGREE)

/* A process's parent and children in the tree of its node, by their index (neighbors.h). */
struct db_branch {
    int parent; /* -1 for the leader */
    int count;  /* number of children */
    int children[DB_MAX_CHILDREN];
};

/* How reports and decisions travel between the processes of a communicator. */
struct db_transport {
    enum db_transport_kind kind;   /* never DB_TRANSPORT_AUTO */
    struct db_neighbors neighbors; /* its `size` is 0 if no shared memory was set up */
    struct db_branch branch;
    uint32_t round;          /* current round of reports and decisions */
    uint32_t exchange_round; /* current round of exchanges */
};

/* Sets up the transport `requested` between `processes`, or messages if it is not available. Collective. */
int db_transport_begin(struct db_transport *transport, const struct db_channel *channel, int processes,
                       enum db_transport_kind requested, int one_node);

void db_transport_free(struct db_transport *transport);

/* Computes the elementwise maximum over all processes. Process 0 gets `result` after all processes have called it; on
 * other processes `result` has no meaning. `channel` is the channel of all processes. */
int db_transport_gather(struct db_transport *transport, const struct db_channel *channel, const int64_t *words,
                        int64_t *result, int count);

/* Broadcasts process 0's words. Must follow a gather: only the report of a process proves that it has read the previous
 * words, so that the line can be written again. */
int db_transport_spread(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count);

/* Replaces `words` on all processes by the elementwise maximum over all processes. Not for DB_TRANSPORT_MESSAGES. */
int db_transport_exchange(struct db_transport *transport, const struct db_channel *channel, int64_t *words, int count);

/* Computes the branch of process `index` in the tree of `size` processes. The first processes of all caches form a
 * tree, so that few lines move between caches; the processes of each cache form another tree under the first of them. A
 * process has at most DB_TREE_DEGREE children in each tree. `caches`: db_processors_cache of each process. */
struct db_branch db_branch_of(int index, int size, const int64_t *caches);

#endif
