/* Niethammer 2016, section III.A: the offset of every process relative to process 0, one after another, by Cristian's
 * method. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {DB_OFFSET_PARAMETER("cristian"), {.name = NULL}};

const struct db_sync_type db_sync_cristian = {
    .component = {DB_DESCRIBED("cristian", "every process with process 0, one after another; offset only; O(p)",
                               "Niethammer 2016, section III.A", parameters)},
    .order = db_one_by_one};
