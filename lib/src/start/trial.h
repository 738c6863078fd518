/* Measurements for a slack controller before the first call. */
#ifndef DOWNBEAT_TRIAL_H
#define DOWNBEAT_TRIAL_H

#include <stdint.h>

struct db_state;

/* Rounds of report and decision without a wait. The first ones set up connections; the lags of the others are the
 * controller's first observations. Ends early if a lag exceeds `longest_ns`. Collective. */
int db_trial_rounds(struct db_state *state, int64_t longest_ns);

/* Mean duration of `count` broadcasts, including the first; the largest of all processes, ns, at process 0. Collective.
 */
int db_trial_broadcasts(struct db_state *state, int count, int64_t *mean_ns);

#endif
