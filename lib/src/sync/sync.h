/* Clock synchronization of a group of processes: which processes compare their clocks. */
#ifndef DOWNBEAT_SYNC_H
#define DOWNBEAT_SYNC_H

#include "base/error.h"
#include "offset/discipline.h"

/* Enough for one partner per level of a binomial tree over 2^31 processes, one for the remainder, and process 0. */
#define DB_MAX_PAIRS 34

struct db_levels;

/* One process's part in the synchronization of a group. */
struct db_sync_group {
    struct db_channel channel; /* of the processes that synchronize */
    int rank;
    int size;
    const struct db_clock *clock;
    struct db_clock_map local; /* local time: ns since this process began the synchronization */
    struct db_limits limits;
    /* Local time that lasts: ns since the clock was opened, at the rate that it was taken to have then, so that
     * readings of different synchronizations can be compared. */
    struct db_clock_map lasting;
    struct db_limits lasting_limits;
    int depth;                      /* levels of the tree, for schemes whose tree can be wider or narrower; 1 or more */
    struct db_histories *histories; /* by level of a hierarchy, for schemes that keep what they learn */
    struct db_pair *pairs;    /* DB_MAX_PAIRS, by round of the scheme: the partner of a round is always the same */
    struct db_reason *reason; /* of a refusal */
    double *contradicted;     /* raised to a difference in frequency that would explain what the limits exclude */
    const struct db_levels *levels; /* how the group is divided, for schemes that have asked for it */
};

struct db_sync_type {
    struct db_component component;
    int divided;   /* 1 if the group's levels are needed */
    int refusing;  /* 1 if it may find that clocks are not what they should be: all processes must hear of it */
    int expecting; /* 1 if the expected error of its maps is an estimate, not merely a share of the bound */
    /* Collective over the group. Process 0's map is the global clock and stays as it is; the others' is set. `self` has
     * the parameters. */
    int (*synchronize)(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map);
    /* Instead of `synchronize`: pairs learn in one of the three orders below, a line if the scheme `fits` one, by the
     * parameters of drift.h. */
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

/* Synchronizes by the chosen scheme. */
int db_sync_run(const struct db_node *chosen, const struct db_sync_group *group, struct db_clock_map *map);

/* A map as it is seen from local time instead of ticks. For schemes. */
struct db_clock_map db_sync_from_local(const struct db_sync_group *group, const struct db_clock_map *map);

/* Sets `map` to a model that leads from local time to the global clock. For schemes. */
void db_sync_adopt(const struct db_sync_group *group, const struct db_clock_map *model, struct db_clock_map *map);

/* Learns the clock that `peer` answers with; the model leads from local time to it. For schemes. */
int db_sync_learn(const struct db_sync_group *group, const struct db_learning *learning, int peer, struct db_pair *pair,
                  struct db_clock_map *model);

/* The group with lasting local time in place of that of this synchronization. For schemes. */
struct db_sync_group db_sync_lasting(const struct db_sync_group *group);

/* Answers `peer`, who learns this process's clock as seen through `map`. For schemes. */
int db_sync_teach(const struct db_sync_group *group, int peer, const struct db_clock_map *map);

/* Hands a map on to another process of the group. For schemes. */
int db_sync_send_map(const struct db_sync_group *group, int peer, const struct db_clock_map *map);
int db_sync_receive_map(const struct db_sync_group *group, int peer, struct db_clock_map *map);

/* A tree from process 0 down in which a process may be the reference of many; radix 0 follows from the group's depth.
 * Every process but 0 learns once, from always the same reference, and then teaches. */
int db_tree_wide(const struct db_sync_group *group, int radix, int (*learn)(int reference, void *argument),
                 int (*teach)(int learner, void *argument), void *argument);

/* The radix of that tree. */
int db_tree_radix(const struct db_sync_group *group, int radix);

/* Every process with `count` others, an even number, its partners, always the same; of each pair one `asks`. Only in
 * groups of 32 and more. `number` is that of the pairs a process asks in, and of those it is asked in, from 0. */
int db_partners(const struct db_sync_group *group, int count,
                int (*meet)(int partner, int number, int asks, void *argument), void *argument);

/* Three orders in which a group can be synchronized; process 0 and the maps as in db_sync_type. */

/* Every process with process 0, one after another: p - 1 rounds. */
int db_one_by_one(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

/* A binomial tree from process 0 down: in each round every synchronized process is the reference of one that is not
 * yet. ceil(log2 p) rounds. */
int db_tree_down(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

/* A binomial tree from the leaves up: each pair learns for itself, models are merged on the way to process 0 and
 * scattered from there. ceil(log2 p) rounds. */
int db_tree_up(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map);

#endif
