/* Netgauge and NBCBench (Hoefler 2008, section 3.2): offsets are measured in a tree from the leaves up, summed on the
 * way to process 0, and scattered. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {DB_OFFSET_PARAMETER("netgauge"), {.name = NULL}};

const struct db_sync_type db_sync_netgauge = {
    .component = {DB_DESCRIBED("netgauge",
                               "tree from the leaves up, offsets gathered and scattered; offset only; O(log p)",
                               "Hoefler 2008, section 3.2", parameters)},
    .order = db_tree_up};
