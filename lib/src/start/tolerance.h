/* tolerance=auto: the tolerance follows from the error that synchronizations leave. */
#ifndef DOWNBEAT_TOLERANCE_H
#define DOWNBEAT_TOLERANCE_H

#include "start/state.h"

/* On process 0. Returns the tolerance from now on, ns. `error_ns`: the largest expected error of all processes directly
 * after the last synchronization. */
int64_t db_tolerance_next(struct db_state *state, double error_ns);

#endif
