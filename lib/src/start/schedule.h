/* The schedule of clock synchronizations. */
#ifndef DOWNBEAT_SCHEDULE_H
#define DOWNBEAT_SCHEDULE_H

#include "start/state.h"

/* Whether a synchronization of this process's clock is due at `ticks`, by its age, its error bound or its expected
 * error. Urgent: this process's flag is 0 without one. */
enum db_due { DB_NOT_DUE, DB_DUE, DB_URGENT };
enum db_due db_schedule_due(struct db_state *state, int64_t ticks);

/* 1 if this process's flag must be 0 at `ticks` because of its clock: it is contradicted, its last synchronization is
 * too old, or its expected error is too large. */
int db_schedule_unsure(struct db_state *state, int64_t ticks);

/* Invalidates the cached results of db_schedule_due and db_schedule_unsure, after a change of the map or the
 * thresholds. */
void db_schedule_invalidate(struct db_state *state);

/* On process 0: true if the time budget allows a synchronization. With max_age or an age of the slack controller,
 * always. Else 1 % of all time in the long run; urgent ones, 10 % of the first 2 s and 1 % of the time after. */
int db_schedule_allows(struct db_state *state, enum db_due due);

/* After a contradiction: for 2 s the budget is that of the beginning. */
void db_schedule_begin_again(struct db_state *state);

/* Number of levels of the tree: of the first synchronization, and, on process 0, of the next one. Each level adds half
 * a round trip to the error bound, so the tree is as shallow as the budget allows. */
int db_schedule_first_depth(int clocks);
int db_schedule_depth(const struct db_state *state);

#endif
