/* Reports and decisions: processes report to process 0, which broadcasts its decision. Nothing here reads a clock, and
 * the wait does not depend on the transport (transport.h). */
#ifndef DOWNBEAT_DECISION_H
#define DOWNBEAT_DECISION_H

#include "start/protocol.h"
#include "start/state.h"

/* A longer lag means that a process was descheduled. Choice, between the 0.1 ms of a slow message and the 1 to 4 ms of
 * a scheduler tick. Half: slow networks put processes to sleep; twice: some processes that lost their processor keep
 * spinning. */
#define DB_AWAY_NS 1000000

/* A process's report on the last call, and its requests for this one. Words are reduced to their maximum, so they hold
 * no bit flags. */
struct db_report {
    int64_t lag_ns;        /* from the decision until this process was ready to wait */
    int64_t lateness_ns;   /* from its release until it left */
    int64_t invalid;       /* 1 if its flag was 0 */
    int64_t due;           /* enum db_due */
    int64_t error_ns;      /* expected error directly after its last synchronization, without path asymmetry */
    int64_t contradiction; /* db_contradiction_take */
};

/* Process 0's decision. */
struct db_decision {
    int64_t deadline_ns; /* on the global clock; undefined if `synchronize` */
    int64_t slack_ns;
    int64_t lateness_ns;  /* largest lateness in the last call */
    int64_t tolerance_ns; /* from this call on */
    int32_t invalid;      /* 1 if a process's flag was 0 in the last call */
    int32_t patience;     /* for messages from now on: enum db_patience */
    int32_t synchronize;  /* if not 0: synchronize clocks first, in a tree of this many levels, then agree again */
    int32_t needs;        /* open needs (enum db_need); 0: the next call begins with an exchange */
};

/* The entry that processes exchange if no need is open, from which all compute the same deadline. */
struct db_entry {
    int64_t arrived_ns; /* arrival on the global clock; the maximum takes the place of process 0's time of decision */
    int64_t slack_ns;   /* process 0's slack; 0 on other processes */
    int64_t lag_ns;     /* this one and the next two as in db_report */
    int64_t lateness_ns;
    int64_t invalid;
    int64_t needs; /* this process's needs; the maximum is 0 only if no process has any */
};

/* Reduces the reports to process 0, where it returns after all processes have reported. `maxima` is set there only. */
int db_gather_reports(struct db_state *state, const struct db_report *report, struct db_report *maxima);

/* Broadcasts process 0's decision; processes adopt its patience. */
int db_spread_decision(struct db_state *state, struct db_decision *decision);

/* Exchanges entries: returns once all processes have called, with the maximum of each word in `entry`. */
int db_exchange_entries(struct db_state *state, struct db_entry *entry);

/* Detects oversubscribed processors, and sets the first patience: yield if oversubscribed, else sleep until calls have
 * gone well. Collective. */
int db_waiting_begin(struct db_state *state);

/* On process 0: the patience of later messages. `maxima`: of all reports on the last call. */
enum db_patience db_waiting_next(struct db_state *state, const struct db_report *maxima);

/* DB_NEED_PATIENCE if process 0 may have to change the patience after `report`, else 0. */
int db_waiting_need(const struct db_state *state, const struct db_report *report);

/* Sets the patience as if every process had a processor, unless they are oversubscribed. */
void db_waiting_trust(struct db_state *state);

#endif
