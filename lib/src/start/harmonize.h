/* A harmonized start, for callers that already have the state. */
#ifndef DOWNBEAT_HARMONIZE_H
#define DOWNBEAT_HARMONIZE_H

#include "start/state.h"

/* As MPIX_Harmonize_delayed, but calls no error handler. */
int db_harmonize(struct db_state *state, double delay, int *flag);

#endif
