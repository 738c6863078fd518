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
    const int64_t *caches; /* by place: db_processors_cache */
    int place;             /* of this process */
    int size;
    int nodes;                 /* in the communicator; as many as processes: no memory is shared */
    struct db_channel leaders; /* of all nodes, by rank; MPI_COMM_NULL on others, and where there is one node */
};

/* Finds the node of each process of `channel`: who can map memory of its leader, whatever node it says it is on.
 * `one_node`: all say that they are on the same one. A node without memory to share is as many nodes as processes.
 * Collective. */
int db_neighbors_find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node);

void db_neighbors_free(struct db_neighbors *neighbors);

#endif
