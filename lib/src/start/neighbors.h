/* Which processes share memory, and the lines in it. */
#ifndef DOWNBEAT_NEIGHBORS_H
#define DOWNBEAT_NEIGHBORS_H

#include "base/mailbox.h"
#include "base/segment.h"

/* Processes that share memory, in the order of their ranks: the first is their leader. */
struct db_neighbors {
    struct db_segment segment;  /* without memory: there are no lines */
    struct db_mailbox *reports; /* by place */
    struct db_mailbox *decisions;
    struct db_mailbox *exchanges; /* by level, by round (even, odd), by place */
    const int64_t *caches;        /* by place: db_processors_cache */
    int place;                    /* of this process */
    int size;
    int nodes;                 /* in the communicator; as many as processes: no memory is shared */
    struct db_channel leaders; /* of all nodes, by rank; MPI_COMM_NULL on others, and where there is one node */
};

/* Radix of the dissemination exchange: each level reads from this many peers less one, at this multiple of the
 * distance. Measurement in virtual time (scale --per-node 128): a line takes 40 to 120 ns, each further reader 20 ns.
 * Half: twice the levels; twice: more readers of each line. Depends on the machine. */
#ifndef DB_TREE_DEGREE
#define DB_TREE_DEGREE 4
#endif
#define DB_EXCHANGE_REACH (DB_TREE_DEGREE + 1)

/* Lines that each of `size` processes needs. */
static inline int db_neighbors_lines(int size) {
    int lines = 2;
    for (int64_t step = 1; step < size; step *= DB_EXCHANGE_REACH)
        lines += 2;
    return lines;
}

/* Sets the pointers to lines, from the first of them. */
static inline void db_neighbors_lay_out(struct db_neighbors *neighbors, struct db_mailbox *lines, int place, int size) {
    neighbors->place = place;
    neighbors->size = size;
    neighbors->reports = lines;
    neighbors->decisions = lines + size;
    neighbors->exchanges = lines + (ptrdiff_t)2 * size;
}

/* Finds the node of each process of `channel`: who can map memory of its leader, whatever node it says it is on.
 * `one_node`: all say that they are on the same one. A node without memory to share is as many nodes as processes.
 * Collective. */
int db_neighbors_find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node);

void db_neighbors_free(struct db_neighbors *neighbors);

#endif
