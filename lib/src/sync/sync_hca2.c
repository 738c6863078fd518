/* HCA, second approach (Hunold 2015, section 6, hierarchical_intercepts; HCA2 in Hunold 2018): slopes and intercepts
 * are measured in the tree, each intercept by an offset after the fit; models are merged by Eq. 1. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {
    DB_FIT_PARAMETERS("1000", "mean_rtt"),
    DB_INTERCEPT_PARAMETER("skampi"),
    {.name = NULL},
};

const struct db_sync_type db_sync_hca2 = {
    .component = {DB_DESCRIBED("hca2", "tree from the leaves up, models merged; linear drift; O(log p)",
                               "Hunold 2015, section 6, second approach; Hunold 2018", parameters),
                  .words = {[DB_INTERCEPT] = db_intercept_words}},
    .fits = 1,
    .order = db_tree_up};
