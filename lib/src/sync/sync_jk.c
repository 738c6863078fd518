/* Jones and Koenig (Hunold 2015, sections 2 and 6): a line fitted to the drift of every process against process 0, one
 * after another. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {
    DB_FIT_PARAMETERS("1000", "mean_rtt"),
    {"intercept", "fit", "intercept of the line: fit, or an estimator of a fresh offset", "intercept", 0, 0, 0},
    {.name = NULL},
};

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    struct db_learning learning = db_learning_fit(self);
    return db_one_by_one(group, &learning, map);
}

const struct db_sync_type db_sync_jk = {
    .component = {.described = {.name = "jk",
                                .summary = "every process with process 0, one after another; linear drift; O(p)",
                                .source = "Jones, Koenig 2012; Hunold 2015, sections 2 and 6",
                                .parameters = parameters}},
    .synchronize = synchronize};
