/* The processors of processes: whether there are enough, and which share a cache. */
#ifndef DOWNBEAT_PROCESSORS_H
#define DOWNBEAT_PROCESSORS_H

#include <mpi.h>
#include <stdint.h>

struct db_processors {
    int one_node;       /* all processes say that they are on the same one */
    int oversubscribed; /* on any node more of them run than there are processors that they may run on */
};

/* The same on all processes of comm. Collective. */
int db_processors_find(MPI_Comm comm, struct db_processors *found);

/* A number of the last-level cache that serves all processors that this process may run on; 0: there is none, or nobody
 * says. */
int64_t db_processors_cache(void);

#endif
