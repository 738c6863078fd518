/* Hierarchical synchronization (Hunold 2018; Schuchart 2023, section 4): a separate scheme on each level of the
 * machine. */
#include "sync/sync.h"

#include "base/error.h"
#include "sync/levels.h"

static const Downbeat_parameter parameters[] = {
    {"nodes", "hca3_offset", "scheme between nodes", "scheme", 0, 0, 0},
    {"sockets", "skip", "skip, propagate, or a scheme between the sockets of a node", "scheme", 0, 0, 0},
    {"numa", "skip",
     "skip, propagate, or a scheme between the NUMA domains of a socket (of a node where sockets are skipped)",
     "scheme", 0, 0, 0},
    {"within", "propagate", "propagate, or a scheme between the processes of the lowest level", "scheme", 0, 0, 0},
    {.name = NULL},
};

static const struct db_component *const words[] = {&db_level_skip, &db_level_propagate, NULL};

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    const struct db_node *scheme = NULL; /* of the last level that has one */
    for (int i = 0; i < DB_LEVELS; ++i) {
        const struct db_node *chosen = db_child(self, i);
        if (db_is(chosen, &db_level_skip))
            continue;
        if (!db_is(chosen, &db_level_propagate))
            scheme = chosen;
        const struct db_level *level = &group->levels->level[i];
        struct db_sync_group subgroup = *group;
        subgroup.channel = level->channel;
        subgroup.rank = level->rank;
        subgroup.size = level->size;
        subgroup.pairs = &group->pairs[(size_t)i * DB_MAX_PAIRS];
        subgroup.histories = &group->histories[i];
        if (subgroup.size > 1)
            DB_TRY(db_sync_run(scheme, &subgroup, map));
    }
    return MPI_SUCCESS;
}

const struct db_sync_type db_sync_hierarchical = {
    .component = {DB_DESCRIBED("hierarchical",
                               "separate schemes between nodes, sockets and NUMA domains, and within the lowest level",
                               "Hunold 2018; Schuchart 2023, section 4", parameters),
                  .words = {[DB_SOCKETS] = words, [DB_NUMA] = words, [DB_WITHIN] = words + 1}, .outermost = 1},
    .divided = 1,
    .synchronize = synchronize};
