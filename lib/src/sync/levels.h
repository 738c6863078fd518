/* The levels of a hierarchical scheme (Hunold 2018; Schuchart 2023, section 4): nodes, the sockets of a node, the NUMA
 * domains of a socket, the processes within. On each level the first process of every group synchronizes; it is the
 * reference of the level below. */
#ifndef DOWNBEAT_LEVELS_H
#define DOWNBEAT_LEVELS_H

#include "base/component.h"
#include "base/message.h"

/* Also the order of the parameters of `hierarchical`. */
enum { DB_NODES, DB_SOCKETS, DB_NUMA, DB_WITHIN, DB_LEVELS };

/* Words that stand in place of a level's scheme: the level is skipped; clocks are shared within the level above. */
extern const struct db_component db_level_skip;
extern const struct db_component db_level_propagate;

struct db_level {
    struct db_channel channel; /* the processes that synchronize on this level within one group of the level above */
    int rank;
    int size; /* 0 if this process does not synchronize on this level */
};

struct db_levels {
    struct db_level level[DB_LEVELS];
};

/* Location of a processor in its node, according to Linux. */
struct db_location {
    int socket;
    int numa; /* NUMA domain; unique in the node */
};

/* Location of a processor, from a tree such as /sys/devices/system/cpu; 0 if it is not listed. */
struct db_location db_location_of(const char *tree, int processor);

/* Location of the processor that this process runs on now; it is permanent only if processes are bound. */
struct db_location db_location_here(void);

/* Initializes without communicators. */
void db_levels_none(struct db_levels *levels);

/* Divides the processes of `channel` into the levels that `hierarchical` does not skip. Collective. */
int db_levels_divide(struct db_levels *levels, const struct db_channel *channel, const struct db_node *hierarchical);

/* Frees the communicators of db_levels_divide, also after it failed. */
void db_levels_free(struct db_levels *levels);

#endif
