/* The levels of a hierarchical scheme (Hunold 2018; Schuchart 2023, section 4): nodes, the sockets of a node, the NUMA
 * domains of a socket, the processes of the lowest group. On each level, the first processes of all groups synchronize
 * with one another; each of them is then process 0 of its group on the next lower level. */
#ifndef DOWNBEAT_LEVELS_H
#define DOWNBEAT_LEVELS_H

#include "base/component.h"
#include "base/message.h"

/* Levels, in the order of the parameters of sync=hierarchical. */
enum { DB_NODES, DB_SOCKETS, DB_NUMA, DB_WITHIN, DB_LEVELS };

/* Words that replace a level's scheme. skip: the level is skipped. propagate: the processes of a shared clock use one
 * map, and other processes are synchronized by the scheme of the level above. */
extern const struct db_component db_level_skip;
extern const struct db_component db_level_propagate;

/* A level, from the view of this process. */
struct db_level {
    struct db_channel channel; /* the processes that synchronize on this level within one group of the level above */
    int rank;                  /* in `channel` */
    int size;                  /* 0 if this process does not synchronize on this level */
};

/* The groups of a process at all levels. */
struct db_levels {
    struct db_level level[DB_LEVELS];
};

/* Location of a processor in its node, as Linux reports it. */
struct db_location {
    int socket; /* number of the socket (physical package) */
    int numa;   /* NUMA domain; unique in the node */
};

/* Reads the location of a processor from a tree such as /sys/devices/system/cpu; numbers that are not listed are 0. */
struct db_location db_location_of(const char *tree, int processor);

/* Returns the location of the processor that this process runs on now, which is permanent only if processes are bound.
 */
struct db_location db_location_here(void);

/* Initializes without communicators. */
void db_levels_init(struct db_levels *levels);

/* Divides the processes of `channel` into the levels that `hierarchical` does not skip. Collective. */
int db_levels_divide(struct db_levels *levels, const struct db_channel *channel, const struct db_node *hierarchical);

/* Frees the communicators of db_levels_divide, also after it failed. */
void db_levels_free(struct db_levels *levels);

#endif
