/* When clocks are synchronized again. */
#ifndef DOWNBEAT_SCHEDULE_H
#define DOWNBEAT_SCHEDULE_H

#include "start/state.h"

/* Whether this process's clock should be synchronized: because of its age, because drift may have raised the error
 * bound above the limit, or because the expected error exceeds the target. Needed: otherwise its flag would be 0. */
enum { DB_WANTED = 1, DB_NEEDED = 2 };
int db_schedule_wants(const struct db_state *state);

/* Whether this process's flag is 0 at `ticks` because of its clock: it is in doubt, was not compared for long, or its
 * expected error is too large. */
int db_schedule_unsure(const struct db_state *state, int64_t ticks);

/* Whether a clock is neither wanted nor unsure at `ticks`. As that can only end as time passes, it is found out once
 * for the next millisecond, until db_schedule_look_again. */
int db_schedule_calm(struct db_state *state, int64_t ticks);
void db_schedule_look_again(struct db_state *state);

/* Whether time may be spent on what is wanted or needed, as process 0 sees it: if no age is set, 1 % of all time in the
 * long run; of the first 2 s 10 % on what is needed, and 1 % of all that follows. */
int db_schedule_allows(struct db_state *state, int wanted);

/* A clock was set: for a while, time may be spent as in the beginning. */
void db_schedule_begin_again(struct db_state *state);

/* Levels of the tree of the first synchronization of so many clocks, and of the next one, as process 0 sees it. Each
 * level adds half a round trip to the error bound, so there are as few as can be paid for. */
int db_schedule_first_depth(int clocks);
int db_schedule_depth(const struct db_state *state);

#endif
