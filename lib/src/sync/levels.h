/* The levels of a hierarchical scheme (Hunold 2018; Schuchart 2023, section 4): nodes, the sockets of a node, the NUMA
 * domains of a socket, the processes within. On each level the first process of every group takes part; it is the
 * reference of the level below. */
#ifndef DOWNBEAT_LEVELS_H
#define DOWNBEAT_LEVELS_H

#include "base/component.h"
#include "base/message.h"

/* Also the order of the parameters of `hierarchical`. */
enum { DB_NODES, DB_SOCKETS, DB_NUMA, DB_WITHIN, DB_LEVELS };

/* Words for a level in place of a scheme: skip the level; clocks are shared below. */
extern const struct db_component db_level_skip;
extern const struct db_component db_level_propagate;

struct db_level {
    struct db_channel channel; /* of the processes of one group of the level above that take part here */
    int rank;
    int size; /* 0 if this process takes no part in the level */
};

struct db_levels {
    struct db_level level[DB_LEVELS];
};

/* Where in its node a process runs, according to Linux. */
struct db_place {
    int socket;
    int numa; /* domain; unique in the node */
};

/* The place of a processor, from a tree such as /sys/devices/system/cpu; 0 if it is not listed. */
struct db_place db_place_of(const char *tree, int processor);

/* The place of the processor that this process runs on now. It is permanent only if processes are bound. */
struct db_place db_place_here(void);

/* No levels: nothing to free. */
void db_levels_none(struct db_levels *levels);

/* Divides the processes of `channel` into the levels that the node of `hierarchical` does not skip. Collective. */
int db_levels_divide(struct db_levels *levels, const struct db_channel *channel, const struct db_node *hierarchical);

/* Frees the communicators that db_levels_divide has made, even if it failed. */
void db_levels_free(struct db_levels *levels);

#endif
