/* Neighbors: processes that share memory, and the mailboxes in it, called lines (base/mailbox.h). transport.c sends
 * reports, decisions and entries through them. */
#ifndef DOWNBEAT_NEIGHBORS_H
#define DOWNBEAT_NEIGHBORS_H

#include "base/mailbox.h"
#include "base/segment.h"

/* Processes that share memory. Their index is the order of their ranks; process 0 of them is their leader. */
struct db_neighbors {
    struct db_segment segment;    /* without memory, there are no lines */
    struct db_mailbox *reports;   /* lines for reports, by index of the writer */
    struct db_mailbox *decisions; /* lines for decisions, by index of the writer */
    struct db_mailbox *exchanges; /* lines for entries, by level, parity of the round, and index of the writer */
    const int64_t *caches;        /* db_processors_cache, by index */
    int index;                    /* index of this process */
    int size;                     /* number of neighbors, this process included */
    int nodes; /* number of nodes in the communicator; the number of processes if no memory is shared */
    struct db_channel
        leaders; /* the leaders of all nodes, by rank; MPI_COMM_NULL on other processes, or if there is one node */
};

/* Maximum number of children per process in the tree of lines. An exchange has radix DB_TREE_DEGREE + 1: on each level
 * a process reads from DB_TREE_DEGREE peers. Measured in virtual time (scale --per-node 128): a line takes 40 to 120
 * ns, each further reader 20 ns. Half the value doubles the levels; twice the value means more readers of each line.
 * Depends on the machine. */
#ifndef DB_TREE_DEGREE
#define DB_TREE_DEGREE 4
#endif
#define DB_EXCHANGE_RADIX (DB_TREE_DEGREE + 1)

/* Number of lines per process for `size` processes. */
static inline int db_neighbors_lines(int size) {
    int lines = 2; /* a report and a decision; then two lines per level of an exchange */
    for (int64_t step = 1; step < size; step *= DB_EXCHANGE_RADIX)
        lines += 2;
    return lines;
}

/* Sets the pointers to the lines; `lines` is the first. */
static inline void db_neighbors_lay_out(struct db_neighbors *neighbors, struct db_mailbox *lines, int index, int size) {
    neighbors->index = index;
    neighbors->size = size;
    neighbors->reports = lines;
    neighbors->decisions = lines + size;
    neighbors->exchanges = lines + (ptrdiff_t)2 * size;
}

/* Groups the processes of `channel` by node: a process belongs to a node if it can map memory of the node's leader.
 * `one_node`: 1 if all processes report the same node. If a process of a node cannot map the memory, each process of
 * that node counts as a node. Collective. */
int db_neighbors_find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node);

void db_neighbors_free(struct db_neighbors *neighbors);

#endif
