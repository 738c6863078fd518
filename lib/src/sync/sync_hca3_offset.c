/* HCA3 in offset form (Hunold 2018; Schuchart 2023, sections 4 and 6, Fig. 5). */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {DB_OFFSET_PARAMETER("skampi"), {.name = NULL}};

const struct db_sync_type db_sync_hca3_offset = {
    .component = {DB_DESCRIBED("hca3_offset", "tree from process 0 down; offset only; O(log p)",
                               "Hunold 2018; Schuchart 2023, sections 4 and 6", parameters)},
    .order = db_tree_down};
