/* Contradictions: observations of a clock that max_skew and max_wander exclude. The clock was set, it stepped, or its
 * frequency is off or has changed. The size of a contradiction is the relative difference in frequency that would
 * explain it, always positive; 0: no contradiction. */
#ifndef DOWNBEAT_CONTRADICTION_H
#define DOWNBEAT_CONTRADICTION_H

#include "start/decision.h"

/* Returns the contradiction between two maps of one global clock, which must agree at `ticks` within their bounds; 0 if
 * they agree. */
double db_contradiction_of_maps(const struct db_clock_map *before, const struct db_clock_map *after, int64_t ticks);

/* Returns the contradiction in the order of a call's events: process 0 decides after all processes have arrived and
 * before any is ready to wait. Compares the time of the decision with this process's readings `arrived` and `ready`; 0
 * if they are in order. A clock step that exceeds the latency of messages is detected at once. */
double db_contradiction_of_order(const struct db_state *state, const struct db_decision *decision, int64_t arrived,
                                 int64_t ready);

/* Records a contradiction of this process's clock: its flags are 0 until a synchronization without contradiction. */
void db_contradiction_record(struct db_state *state, double difference);

/* Call it after a synchronization, with the contradiction that it has shown, or 0. */
void db_contradiction_resolve(struct db_state *state, double difference);

/* Returns the word of a report (decision.h) with the largest contradiction since the last report; 0 if there was none.
 */
int64_t db_contradiction_take(struct db_state *state);

/* On process 0: prints the first contradiction of a communicator. `word` is the maximum of the words of all reports. */
void db_contradiction_print(struct db_state *state, int64_t word);

#endif
