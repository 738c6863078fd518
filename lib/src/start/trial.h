/* Measurements for a slack controller before the first call. */
#ifndef DOWNBEAT_TRIAL_H
#define DOWNBEAT_TRIAL_H

#include <stdint.h>

struct db_state;

/* Makes rounds of report and decision without a wait. The first rounds set up connections; the lags of later rounds are
 * the controller's first observations. Ends early if a lag exceeds `max_lag_ns`. Collective. */
int db_trial_rounds(struct db_state *state, int64_t max_lag_ns);

/* Measures the mean duration of `count` broadcasts, including the first one. Process 0 gets the largest mean of all
 * processes, ns, in `mean_ns`. Collective. */
int db_trial_broadcasts(struct db_state *state, int count, int64_t *mean_ns);

#endif
