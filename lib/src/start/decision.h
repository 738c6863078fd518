/* Reports and decisions: processes report to process 0, and its decision comes back. Nothing here reads a clock, and
 * the wait does not depend on how the deadline was agreed on (transport.h). */
#ifndef DOWNBEAT_DECISION_H
#define DOWNBEAT_DECISION_H

#include "start/protocol.h"
#include "start/state.h"

/* No message takes this long: a process had no processor. Choice, between the 0.1 ms of a slow message and the 1 to 4
 * ms of a scheduler's tick. Half: slow networks put processes to sleep; twice: some that lost their processor spin on.
 */
#define DB_AWAY_NS 1000000

/* A process's report on the last call, and its requests for this one. Each word is reduced to its maximum: with bit
 * flags in one word, a maximum would lose all but the highest. */
struct db_report {
    int64_t lag_ns;        /* from the decision to the moment this process was ready */
    int64_t lateness_ns;   /* from its release to the moment it left */
    int64_t invalid;       /* 1 if its flag was 0 */
    int64_t due;           /* enum db_due */
    int64_t error_ns;      /* the expected error directly after its last synchronization, without path asymmetry */
    int64_t contradiction; /* db_contradiction_take */
};

/* Process 0's decision. */
struct db_decision {
    int64_t deadline_ns; /* on the global clock; has no meaning if `synchronize` */
    int64_t slack_ns;
    int64_t lateness_ns;  /* of the latest process in the last call */
    int64_t tolerance_ns; /* in force from this call on */
    int32_t invalid;      /* 1 if any process's flag was 0 in the last call */
    int32_t patience;     /* of the messages from now on: enum db_patience */
    int32_t synchronize;  /* not 0: clocks first, in a tree of this many levels, then agree again */
    int32_t needs;        /* that it leaves open: 0: the next call begins with an exchange */
};

/* What is exchanged if the last decision left no need open: enough for all to compute the same deadline. */
struct db_entry {
    int64_t arrived_ns; /* on the global clock: the latest of all is when process 0 would decide */
    int64_t slack_ns;   /* of process 0; 0 on the others */
    int64_t lag_ns;     /* as in db_report; also the following */
    int64_t lateness_ns;
    int64_t invalid;
    int64_t needs; /* of this process; their maximum is 0 only if no process has any */
};

/* Returns at process 0 when all have reported. `all` is set there only. */
int db_gather_reports(struct db_state *state, const struct db_report *mine, struct db_report *all);

/* Sends process 0's decision to all, which adopt its patience. */
int db_spread_decision(struct db_state *state, struct db_decision *decision);

/* Returns once all have called, with the maximum of each word in `entry`. */
int db_exchange_entries(struct db_state *state, struct db_entry *entry);

/* Finds out whether processors are oversubscribed. Until it is known whether every process has its own, messages sleep.
 * Collective. */
int db_waiting_begin(struct db_state *state);

/* On process 0: the patience of the messages after this one, from the reports of all on the last call. */
enum db_patience db_waiting_next(struct db_state *state, const struct db_report *all);

/* DB_NEED_PATIENCE if process 0 may have to change the patience after `report`, else 0. */
int db_waiting_need(const struct db_state *state, const struct db_report *report);

/* Every process is taken to have its processor, unless they are oversubscribed. */
void db_waiting_trust(struct db_state *state);

#endif
