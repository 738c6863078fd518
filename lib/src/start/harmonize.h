/* A harmonized start, for callers that have the state already. */
#ifndef DOWNBEAT_HARMONIZE_H
#define DOWNBEAT_HARMONIZE_H

#include "start/agree.h"
#include "start/state.h"

/* How patient the messages after this one are to be, as process 0 sees it. `all` have reported on the last call. */
enum db_patience db_patience_after(struct db_state *state, const struct db_report *all);

/* As MPIX_Harmonize_delayed, but calls no error handler. */
int db_harmonize(struct db_state *state, double delay, int *flag);

#endif
