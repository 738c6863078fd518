/* SKaMPI (Worsch, Reussner, Augustin 2002; Hunold 2015, section 2; Schuchart 2023, section 3): the offset of every
 * process relative to process 0, one after another. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {DB_OFFSET_PARAMETER("skampi"), {.name = NULL}};

const struct db_sync_type db_sync_skampi = {
    .component = {DB_DESCRIBED("skampi", "every process with process 0, one after another; offset only; O(p)",
                               "Worsch, Reussner, Augustin 2002; Hunold 2015, section 2", parameters)},
    .order = db_one_by_one};
