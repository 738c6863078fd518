/* When clocks are synchronized again. */
#ifndef DOWNBEAT_SCHEDULE_H
#define DOWNBEAT_SCHEDULE_H

#include "start/state.h"

/* Whether a synchronization of this process's clock is due: because of its age, because drift may have raised the error
 * bound above the limit, or because the expected error exceeds the target. Urgent: without it, the flag is 0 here. */
enum db_due { DB_NOT_DUE, DB_DUE, DB_URGENT };
enum db_due db_schedule_due(struct db_state *state, int64_t ticks);

/* Whether this process's flag is 0 at `ticks` because of its clock: it was contradicted, was not compared for long, or
 * its expected error is too large. */
int db_schedule_unsure(struct db_state *state, int64_t ticks);

/* After a change of the clock's map or of the thresholds: what db_schedule_due and db_schedule_unsure found for the
 * next millisecond no longer holds. */
void db_schedule_look_again(struct db_state *state);

/* On process 0: whether the budget has time for a synchronization. If no age is set: 1 % of all time in the long run;
 * if it is urgent, 10 % of the first 2 s and 1 % of all that follows. */
int db_schedule_allows(struct db_state *state, enum db_due due);

/* A clock was set: for 2 s, the budget is that of the beginning. */
void db_schedule_begin_again(struct db_state *state);

/* Levels of the tree of the first synchronization, and of the next one, on process 0. Each level adds half a round trip
 * to the error bound, so the tree has as few as the budget allows. */
int db_schedule_first_depth(int clocks);
int db_schedule_depth(const struct db_state *state);

#endif
