/* Neighbors: processes that share memory, and the mailboxes (lines) in it. */
#ifndef DOWNBEAT_NEIGHBORS_H
#define DOWNBEAT_NEIGHBORS_H

#include "base/mailbox.h"
#include "base/segment.h"

/* Processes that share memory, indexed in the order of their ranks; the first is their leader. */
struct db_neighbors {
    struct db_segment segment;  /* without memory, there are no lines */
    struct db_mailbox *reports; /* by index */
    struct db_mailbox *decisions;
    struct db_mailbox *exchanges; /* by level, parity of the round, and index */
    const int64_t *caches;        /* db_processors_cache, by index */
    int index;                    /* of this process */
    int size;
    int nodes;                 /* number of nodes in the communicator; the number of processes if no memory is shared */
    struct db_channel leaders; /* leaders of all nodes, by rank; else, or if there is one node, MPI_COMM_NULL */
};

/* Children per process in the tree of lines. The dissemination exchange has radix DB_TREE_DEGREE + 1: on each level a
 * process reads from this many peers. Measurement in virtual time (scale --per-node 128): a line takes 40 to 120 ns,
 * each further reader 20 ns. Half: twice the levels; twice: more readers of each line. Depends on the machine. */
#ifndef DB_TREE_DEGREE
#define DB_TREE_DEGREE 4
#endif
#define DB_EXCHANGE_RADIX (DB_TREE_DEGREE + 1)

/* Number of lines per process for `size` processes. */
static inline int db_neighbors_lines(int size) {
    int lines = 2;
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
 * `one_node`: 1 if all processes report the same node. If not all processes of a node can map the memory, each counts
 * as a node. Collective. */
int db_neighbors_find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node);

void db_neighbors_free(struct db_neighbors *neighbors);

#endif
