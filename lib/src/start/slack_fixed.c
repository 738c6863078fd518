/* The controller for slack=SECONDS: a fixed slack. It has no name that the setting could contain, so it is not in the
 * registry. */
#include "start/slack.h"

#include "start/trial.h"

static int begin(struct db_state *state) { return db_trial_rounds(state, 0); }

static int64_t next(const struct db_slack *slack) { return slack->fixed_ns; }

const struct db_slack_type db_slack_fixed = {
    .component = {DB_DESCRIBED("fixed", "always the same", "", DB_NO_PARAMETERS)}, .begin = begin, .next = next};
