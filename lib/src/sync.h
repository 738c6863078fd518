/* Clock synchronization of a communicator: who compares his clock with whom. */
#ifndef DOWNBEAT_SYNC_H
#define DOWNBEAT_SYNC_H

#include "offset.h"

/* Enough for one partner per level of a binomial tree over 2^31 processes, and one for the remainder. */
#define DB_MAX_PAIRS 32

/* One process's part in the synchronization of a group. */
struct db_sync_group {
    struct db_channel channel; /* of the processes that synchronize */
    int rank;
    int size;
    const struct db_clock *clock;
    const struct db_offset_type *offset;
    double max_skew;
    struct db_pair *pairs; /* DB_MAX_PAIRS, by round of the scheme: the partner of a round is always the same */
};

struct db_sync_type {
    const char *name;
    /* Collective over the group. Process 0's map is the global clock and stays as it is; the others' is set. */
    int (*synchronize)(const struct db_sync_group *group, struct db_clock_map *map);
};

extern const struct db_sync_type db_sync_hca3_offset;

/* Registry (registry.h); the first is the default. */
extern const void *const db_sync_types[];

/* Sets `map` from the offset to `peer`, who answers with its global clock. For schemes. */
int db_sync_learn(const struct db_sync_group *group, int peer, struct db_pair *pair, struct db_clock_map *map);

/* Answers `peer`, who calls db_sync_learn. For schemes. */
int db_sync_teach(const struct db_sync_group *group, int peer, const struct db_clock_map *map);

#endif
