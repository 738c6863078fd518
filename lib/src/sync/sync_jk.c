/* Jones and Koenig (Hunold 2015, sections 2 and 6): a line fitted to the drift of every process relative to process 0,
 * one after another. */
#include "sync/sync.h"

static const Downbeat_parameter parameters[] = {
    DB_FIT_PARAMETERS("1000", "mean_rtt"),
    DB_INTERCEPT_PARAMETER("fit"),
    {.name = NULL},
};

const struct db_sync_type db_sync_jk = {
    .component = {DB_DESCRIBED("jk", "every process with process 0, one after another; linear drift; O(p)",
                               "Jones, Koenig 2012; Hunold 2015, sections 2 and 6", parameters),
                  .words = {[DB_INTERCEPT] = db_intercept_words}},
    .fits = 1,
    .order = db_one_by_one};
