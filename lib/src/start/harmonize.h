/* A harmonized start, for callers inside the library that already have the state of the communicator. */
#ifndef DOWNBEAT_HARMONIZE_H
#define DOWNBEAT_HARMONIZE_H

#include "start/state.h"

/* Like MPIX_Harmonize_delayed, but calls no error handler. */
int db_harmonize(struct db_state *state, double delay, int *flag);

#endif
