/* HCA, first approach (Hunold 2015, section 6, Alg. 1 to 4): slopes are measured in the tree and merged by Eq. 1; then
 * every process measures its intercept with process 0, one after another. */
#include "sync/sync.h"

#include "base/error.h"

static const Downbeat_parameter parameters[] = {
    DB_FIT_PARAMETERS("1000", "mean_rtt"),
    {"intercept", "skampi", "estimator of the offset to process 0; the line is drawn through that offset", "offset", 0,
     0, 0},
    {.name = NULL},
};

/* Alg. 4, Compute_And_Set_Intercept: keeps the slope of the map and replaces its offset by a measured one. */
static int set_intercept(const struct db_sync_group *group, const struct db_learning *intercept,
                         struct db_clock_map *map) {
    struct db_clock_map slope = db_sync_from_local(group, map);
    struct db_clock_map model;
    DB_TRY(db_sync_learn(group, intercept, 0, &group->pairs[DB_MAX_PAIRS - 1], &model));
    model.ns_per_tick = slope.ns_per_tick;
    model.growth = slope.growth;
    model.ramp = slope.ramp;
    model.uncertainty.rate = slope.uncertainty.rate;
    db_sync_adopt(group, &model, map);
    return MPI_SUCCESS;
}

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    struct db_learning slopes = db_learning_fit(self);
    struct db_learning intercept = {.offset = slopes.intercept};
    slopes.intercept = &db_intercept_of_fit;
    DB_TRY(db_tree_up(group, &slopes, map));
    if (group->rank > 0)
        return set_intercept(group, &intercept, map);
    for (int peer = 1; peer < group->size; ++peer)
        DB_TRY(db_sync_teach(group, peer, map));
    return MPI_SUCCESS;
}

const struct db_sync_type db_sync_hca = {
    .component = {DB_DESCRIBED("hca",
                               "slopes in a tree from the leaves up, intercepts with process 0 one after "
                               "another; linear drift; O(log p) + O(p)",
                               "Hunold 2015, Alg. 1 to 4, first approach", parameters)},
    .synchronize = synchronize};
