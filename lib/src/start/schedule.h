/* The schedule of clock synchronizations: each process reports whether its clock is due (db_schedule_due); process 0
 * decides within a budget of time (db_schedule_allows). */
#ifndef DOWNBEAT_SCHEDULE_H
#define DOWNBEAT_SCHEDULE_H

#include "start/state.h"

/* Returns DB_DUE if a synchronization of this process's clock is due at `ticks`, by its age, its error bound or its
 * expected error; DB_URGENT if this process's flag would be 0 without it. */
enum db_due { DB_NOT_DUE, DB_DUE, DB_URGENT };
enum db_due db_schedule_due(struct db_state *state, int64_t ticks);

/* Returns 1 if this process's flag must be 0 at `ticks` because of its clock: the clock was contradicted
 * (contradiction.h), its last synchronization is too old, or its expected error is too large. */
int db_schedule_unsure(struct db_state *state, int64_t ticks);

/* Invalidates the cached results of db_schedule_due and db_schedule_unsure, after a change of the map or the
 * thresholds. */
void db_schedule_invalidate(struct db_state *state);

/* On process 0: returns 1 if the time budget allows a synchronization. It always does if an age is set (setting
 * max_age, or the slack controller's). Otherwise synchronizations get 1 % of all time in the long run; urgent
 * synchronizations get 10 % of the first 2 s and 1 % of the time after. */
int db_schedule_allows(struct db_state *state, enum db_due due);

/* Call it after a contradiction: the budget is that of the first 2 s again, for 2 s. */
void db_schedule_begin_again(struct db_state *state);

/* Number of levels of the tree (sync/tree_wide.c): for the first synchronization of `clocks` clocks; on process 0, for
 * the next synchronization. Each level adds half a round trip to the error bound, so the tree is as shallow as the
 * budget allows. */
int db_schedule_first_depth(int clocks);
int db_schedule_depth(const struct db_state *state);

#endif
