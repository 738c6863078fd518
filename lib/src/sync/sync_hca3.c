/* HCA3 (Hunold 2018; Schuchart 2023, section 4): hca3_offset with a line fitted to the drift of each pair. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {
    DB_FIT_PARAMETERS("500", "skampi"),
    DB_INTERCEPT_PARAMETER("fit"),
    {.name = NULL},
};

const struct db_sync_type db_sync_hca3 = {
    .component = {DB_DESCRIBED("hca3",
                               "tree from process 0 down, each synchronized process is the reference for "
                               "the next; linear drift; O(log p)",
                               "Hunold 2018; Schuchart 2023, section 4", parameters),
                  .words = {[DB_INTERCEPT] = db_intercept_words}},
    .fits = 1,
    .order = db_tree_down};
