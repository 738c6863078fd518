/* Clock synchronization of a group of processes: a scheme decides which processes compare their clocks. */
#ifndef DOWNBEAT_SYNC_H
#define DOWNBEAT_SYNC_H

#include "base/error.h"
#include "offset/discipline.h"

/* One peer per level of a binomial tree over 2^31 processes, one for the ranks beyond the power of two, and process 0.
 */
#define DB_MAX_PAIRS 34

struct db_levels;

/* A process's view of the group that it synchronizes with. */
struct db_sync_group {
    struct db_channel channel; /* of the group's processes */
    int rank;
    int size;
    const struct db_clock *clock;
    struct db_clock_map local; /* local time of this synchronization: ns since this process began it */
    struct db_limits limits;
    /* Lasting local time: ns since the clock was opened, at the rate assumed then, so that times of different
     * synchronizations are comparable. */
    struct db_clock_map lasting;
    struct db_limits lasting_limits;
    int depth;                      /* levels of the tree, at least 1, for schemes whose tree has a variable radix */
    struct db_histories *histories; /* by level of a hierarchy, for schemes that use earlier offsets */
    struct db_pair *pairs;    /* DB_MAX_PAIRS elements, by round of the scheme; the peer of a round never changes */
    struct db_reason *reason; /* set if the scheme refuses the clocks */
    double *contradicted;     /* raised to the difference in frequency that explains an offset outside the limits */
    const struct db_levels *levels; /* for schemes with `divided` */
};

struct db_sync_type {
    struct db_component component;
    int divided;   /* 1 if the scheme needs `levels` */
    int refusing;  /* 1 if the scheme may refuse the clocks; then all processes must agree on the error */
    int expecting; /* 1 if the expected error of its maps is estimated, not derived from the bound */
    /* Synchronizes the group. Process 0's map defines the global clock and does not change; that of every other process
     * is set. `self` has the parameters. Collective. */
    int (*synchronize)(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map);
    /* Instead of `synchronize`: one of the three orders below, in which pairs learn an offset, or a line if `fits` is
     * 1, with the parameters of drift.h. */
    int (*order)(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);
    int fits;
};

extern const struct db_sync_type db_sync_disciplined;
extern const struct db_sync_type db_sync_hca3_offset;
extern const struct db_sync_type db_sync_hca3;
extern const struct db_sync_type db_sync_hca2;
extern const struct db_sync_type db_sync_hca;
extern const struct db_sync_type db_sync_jk;
extern const struct db_sync_type db_sync_netgauge;
extern const struct db_sync_type db_sync_skampi;
extern const struct db_sync_type db_sync_cristian;
extern const struct db_sync_type db_sync_hierarchical;
extern const struct db_sync_type db_sync_none;

/* Registry (registry.h); the first is the default. */
extern const void *const db_sync_types[];

/* Synchronizes with the selected scheme. */
int db_sync_run(const struct db_node *chosen, const struct db_sync_group *group, struct db_clock_map *map);

/* Converts a map from ticks into one from local time. For schemes. */
struct db_clock_map db_sync_from_local(const struct db_sync_group *group, const struct db_clock_map *map);

/* Sets `map` from a model that converts local time to the global clock. For schemes. */
void db_sync_adopt(const struct db_sync_group *group, const struct db_clock_map *model, struct db_clock_map *map);

/* Learns the clock of `peer`, which calls db_sync_teach; the model converts local time to it. For schemes. */
int db_sync_learn(const struct db_sync_group *group, const struct db_learning *learning, int peer, struct db_pair *pair,
                  struct db_clock_map *model);

/* The group with lasting local time as its local time. For schemes. */
struct db_sync_group db_sync_lasting(const struct db_sync_group *group);

/* Answers `peer`, which calls db_sync_learn, with this process's clock converted by `map`. For schemes. */
int db_sync_teach(const struct db_sync_group *group, int peer, const struct db_clock_map *map);

/* Sends a map to another process of the group. For schemes. */
int db_sync_send_map(const struct db_sync_group *group, int peer, const struct db_clock_map *map);
int db_sync_receive_map(const struct db_sync_group *group, int peer, struct db_clock_map *map);

/* A tree from process 0 down in which a process may be the reference of several; with radix 0, the radix follows from
 * the group's depth. Every process except 0 learns once, always from the same reference, and then teaches. */
int db_tree_wide(const struct db_sync_group *group, int radix, int (*learn)(int reference, void *argument),
                 int (*teach)(int learner, void *argument), void *argument);

/* The radix of that tree: `radix`, or, if 0, the one that follows from the group's depth. */
int db_tree_radix(const struct db_sync_group *group, int radix);

/* Calls `meet` for each of a process's partners, which never change; `count` is even. Only in groups of 32 and more,
 * else none. One process of each pair `asks`. `number` counts the pairs in which a process asks, and those in which it
 * answers, from 0. */
int db_partners(const struct db_sync_group *group, int count,
                int (*meet)(int partner, int number, int asks, void *argument), void *argument);

/* Three orders of synchronizing a group; process 0 and the maps as in db_sync_type. */

/* Process 0 with every other process, one after another: p - 1 rounds. */
int db_one_by_one(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

/* A binomial tree from process 0 down: in each round every synchronized process is the reference of another one.
 * ceil(log2 p) rounds. */
int db_tree_down(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

/* A binomial tree from the leaves up: each pair learns independently, models are composed on the way to process 0 and
 * scattered from there. ceil(log2 p) rounds. */
int db_tree_up(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

#endif
