/* Contradictions: observations of a clock that max_skew and max_wander exclude. The clock was set, it stepped, or its
 * frequency is off or has changed. The size of a contradiction is the relative difference in frequency that would
 * explain it, always positive; 0: no contradiction. */
#ifndef DOWNBEAT_CONTRADICTION_H
#define DOWNBEAT_CONTRADICTION_H

#include "start/decision.h"

/* Two maps of one global clock must agree within their bounds. The contradiction of their difference at `ticks`. */
double db_contradiction_of_maps(const struct db_clock_map *before, const struct db_clock_map *after, int64_t ticks);

/* A decision comes after all arrivals and before any process is ready. The contradiction if this process's readings
 * `arrived` and `ready` are in another order. This detects a clock step at once if it exceeds the latency of messages.
 */
double db_contradiction_of_order(const struct db_state *state, const struct db_decision *decision, int64_t arrived,
                                 int64_t ready);

/* Records a contradiction of this process's clock: its flags are 0 until a synchronization without contradiction. */
void db_contradiction_note(struct db_state *state, double difference);

/* Called after a synchronization, with the contradiction that it shows, or 0. */
void db_contradiction_resolve(struct db_state *state, double difference);

/* The word of a report (decision.h) with the largest contradiction since the last report; 0: there was none. */
int64_t db_contradiction_take(struct db_state *state);

/* On process 0: prints the first contradiction of a communicator, from the largest word of all reports. */
void db_contradiction_print(struct db_state *state, int64_t word);

#endif
