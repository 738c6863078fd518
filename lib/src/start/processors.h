/* Processors: checks that there are enough for the processes, and identifies processes that share a cache. */
#ifndef DOWNBEAT_PROCESSORS_H
#define DOWNBEAT_PROCESSORS_H

#include <mpi.h>
#include <stdint.h>

/* What the processes of a communicator know about their processors. */
struct db_processors {
    int one_node;       /* 1 if all processes report the same node */
    int oversubscribed; /* 1 if a node has more processes than processors in their affinity masks */
};

/* Counts the processors. The result is the same on all processes of comm. Collective. */
int db_processors_find(MPI_Comm comm, struct db_processors *result);

/* Returns a number of the last-level cache that all processors in this process's affinity mask share; 0 if they share
 * none, or if it is unknown. */
int64_t db_processors_cache(void);

#endif
