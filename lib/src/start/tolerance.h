/* tolerance=auto: the tolerance follows from the expected error after synchronizations. */
#ifndef DOWNBEAT_TOLERANCE_H
#define DOWNBEAT_TOLERANCE_H

#include "start/state.h"

/* The tolerance for the next calls, ns. `error_ns`: the largest expected error of all processes directly after the last
 * synchronization. Called on process 0. */
int64_t db_tolerance_next(struct db_state *state, double error_ns);

#endif
