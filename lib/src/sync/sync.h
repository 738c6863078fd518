/* Clock synchronization of a group of processes. A scheme (a component, in a file sync_<name>.c) decides which
 * processes compare their clocks. A process learns the clock of its reference, which teaches meanwhile; then it has a
 * map to the global clock, the clock of process 0, and may be the reference of further processes. */
#ifndef DOWNBEAT_SYNC_H
#define DOWNBEAT_SYNC_H

#include "base/error.h"
#include "offset/discipline.h"

/* Maximum number of peers of a process: one per level of a binomial tree over 2^31 processes, one for the ranks beyond
 * the power of two, and process 0. */
#define DB_MAX_PAIRS 34

struct db_levels;

/* A process's view of the group that it synchronizes with. */
struct db_sync_group {
    struct db_channel channel; /* communicator of the group */
    int rank;
    int size;
    const struct db_clock *clock;
    struct db_clock_map local; /* local time of this synchronization: ns since this process began it */
    struct db_limits limits;   /* limits of drift (drift.h) for `local` */
    /* Lasting local time: ns since the clock was opened, at the rate assumed then, so that times of different
     * synchronizations are comparable. */
    struct db_clock_map lasting;
    struct db_limits lasting_limits; /* limits of drift for `lasting` */
    int depth;                       /* levels of the tree, at least 1, for schemes whose tree has a variable radix */
    struct db_histories
        *histories;        /* earlier comparisons, for schemes that use them, by level of a hierarchical scheme */
    struct db_pair *pairs; /* round trips of pairs, DB_MAX_PAIRS elements, by round of the scheme; the peer of a round
                              never changes */
    struct db_reason *reason; /* set if the scheme refuses the clocks */
    double *contradicted;     /* the scheme raises it to the difference in frequency (relative) that explains an offset
                                 outside the limits */
    const struct db_levels *levels; /* for schemes with `divided` */
};

/* A scheme. */
struct db_sync_type {
    struct db_component component;
    int divided;   /* 1 if the scheme needs db_sync_group.levels */
    int refusing;  /* 1 if the scheme may refuse the clocks of some processes; all processes then agree on the error */
    int expecting; /* 1 if the expected error of its maps is estimated, not derived from the bound */
    /* Synchronizes the group. Process 0's map defines the global clock and does not change; sets the map of every other
     * process. `self` has the parameters. Collective. */
    int (*synchronize)(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map);
    /* Used if `synchronize` is NULL: one of the three orders below. Pairs of processes learn an offset, or a line if
     * `fits` is 1; the scheme has the parameters of drift.h. */
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

/* Converts a map from readings (ticks) to a map from local time. For schemes. */
struct db_clock_map db_sync_from_local(const struct db_sync_group *group, const struct db_clock_map *map);

/* Sets `map` (from readings) to a model that converts local time to the global clock. For schemes. */
void db_sync_adopt(const struct db_sync_group *group, const struct db_clock_map *model, struct db_clock_map *map);

/* Learns the clock of `peer`, which calls db_sync_teach. Sets `model` to the map from local time to the peer's time.
 * For schemes. */
int db_sync_learn(const struct db_sync_group *group, const struct db_learning *learning, int peer, struct db_pair *pair,
                  struct db_clock_map *model);

/* Returns the group with lasting local time as its local time. For schemes. */
struct db_sync_group db_sync_lasting(const struct db_sync_group *group);

/* Answers `peer`, which calls db_sync_learn, with this process's readings converted by `map`. For schemes. */
int db_sync_teach(const struct db_sync_group *group, int peer, const struct db_clock_map *map);

/* Sends a map to another process of the group, or receives one. For schemes. */
int db_sync_send_map(const struct db_sync_group *group, int peer, const struct db_clock_map *map);
int db_sync_receive_map(const struct db_sync_group *group, int peer, struct db_clock_map *map);

/* Runs a tree from process 0 down (tree_wide.c). A process may be the reference of several learners. Every process
 * except 0 calls `learn` once, always with the same reference; then it calls `teach` for each of its learners. radix =
 * 0: the radix follows from the group's depth. */
int db_tree_wide(const struct db_sync_group *group, int radix, int (*learn)(int reference, void *argument),
                 int (*teach)(int learner, void *argument), void *argument);

/* Returns the radix of that tree: `radix` if not 0, else the radix that follows from the group's depth. */
int db_tree_radix(const struct db_sync_group *group, int radix);

/* Calls `meet` for each of a process's `count` partners (an even number), which never change. A group of fewer than 32
 * processes has no partners. In each pair one process has asks = 1. `number` counts from 0, separately for the pairs in
 * which this process asks and those in which it answers. */
int db_partners(const struct db_sync_group *group, int count,
                int (*meet)(int partner, int number, int asks, void *argument), void *argument);

/* Three orders of synchronizing a group. For process 0 and the maps, see db_sync_type.synchronize. */

/* Synchronizes every other process with process 0, one after another: p - 1 rounds for p processes. */
int db_one_by_one(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

/* Synchronizes in a binomial tree from process 0 down: in each round every synchronized process is the reference of
 * another process. ceil(log2 p) rounds. */
int db_tree_down(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

/* Synchronizes in a binomial tree from the leaves up: each pair learns independently; models are composed on the way to
 * process 0 and scattered from there. ceil(log2 p) rounds. */
int db_tree_up(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

#endif
