/* tolerance=auto: process 0 adapts the tolerance to the expected error of the clocks after synchronizations. The
 * tolerance is the largest lateness with a flag of 1. */
#ifndef DOWNBEAT_TOLERANCE_H
#define DOWNBEAT_TOLERANCE_H

#include "start/state.h"

/* Returns the tolerance for the next calls, ns; unchanged if the setting is not auto, or if setting flag_error is not
 * auto, as flags then do not depend on the tolerance's limit of the error. `error_ns`: the largest expected
 * error of all processes directly after the last synchronization. Called on process 0. */
int64_t db_tolerance_next(struct db_state *state, double error_ns);

#endif
