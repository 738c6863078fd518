/* Contradictions: a process's clock did what max_skew and max_wander exclude. It was set, it stepped, or its frequency
 * is off or has changed. Its size is the relative difference in frequency that would explain it: positive, whichever
 * way the clock moved; 0: there is none. */
#ifndef DOWNBEAT_CONTRADICTION_H
#define DOWNBEAT_CONTRADICTION_H

#include "start/decision.h"

/* Two maps of one global clock differ by at most their bounds. The contradiction if they differ by more at `ticks`. */
double db_contradiction_of_maps(const struct db_clock_map *before, const struct db_clock_map *after, int64_t ticks);

/* A deadline is set after all have arrived and before any is ready. The contradiction if this process's readings
 * `arrived` and `ready` are in another order. A clock that steps shows here at once, if by more than messages take. */
double db_contradiction_of_order(const struct db_state *state, const struct db_decision *decision, int64_t arrived,
                                 int64_t ready);

/* Notes a contradiction of this process's clock: flags are 0 here until a synchronization without any. */
void db_contradiction_note(struct db_state *state, double difference);

/* After a synchronization, with the contradiction that it shows, or 0. */
void db_contradiction_resolve(struct db_state *state, double difference);

/* The word of a report (decision.h) for the largest contradiction since the last report; 0: there was none. */
int64_t db_contradiction_take(struct db_state *state);

/* On process 0: prints the first one of a communicator, from the largest word of all reports. */
void db_contradiction_print(struct db_state *state, int64_t word);

#endif
