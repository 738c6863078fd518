/* Reports and decisions: processes report to process 0, which broadcasts its decision; or all processes exchange
 * entries and compute the same decision (protocol.h). Nothing here reads a clock. This file also chooses the patience:
 * how processes wait for messages (patience.h). */
#ifndef DOWNBEAT_DECISION_H
#define DOWNBEAT_DECISION_H

#include "start/protocol.h"
#include "start/state.h"

/* A longer lag or lateness means that a process was descheduled. Chosen by hand, between the 0.1 ms of a slow message
 * and the 1 to 4 ms of a scheduler tick. With half the value, slow networks put processes to sleep; with twice, some
 * processes that lost their processor keep spinning. */
#define DB_DESCHEDULED_NS 1000000

/* A process's report on the last call, and its requests for this one. Words are reduced to their maximum, so they hold
 * no bit flags. */
struct db_report {
    int64_t lag_ns;        /* from the decision until this process was ready to wait */
    int64_t lateness_ns;   /* time by which it left after its deadline and delay */
    int64_t invalid;       /* 1 if its flag was 0 */
    int64_t due;           /* enum db_due (schedule.h) */
    int64_t error_ns;      /* expected error directly after its last synchronization, without path asymmetry */
    int64_t contradiction; /* word of db_contradiction_take; 0: none */
};

/* Process 0's decision. */
struct db_decision {
    int64_t deadline_ns;  /* on the global clock; not set if `synchronize` is not 0 */
    int64_t slack_ns;     /* time from the decision to the deadline */
    int64_t lateness_ns;  /* largest lateness in the last call */
    int64_t tolerance_ns; /* tolerance from this call on */
    int32_t invalid;      /* 1 if a process's flag was 0 in the last call */
    int32_t patience;     /* patience from now on (enum db_patience) */
    int32_t synchronize; /* 0: wait for the deadline; k > 0: synchronize clocks first, in a tree of k levels, then agree
                            again */
    int32_t needs; /* needs that remain open (enum db_need, protocol.h); 0: the next call begins with an exchange */
};

/* A process's entry in an exchange. All processes get the maximum of each word, so all compute the same deadline. */
struct db_entry {
    int64_t arrived_ns; /* time of arrival on the global clock; the maximum is the time of the decision */
    int64_t slack_ns;   /* process 0's slack; 0 on other processes */
    int64_t lag_ns;     /* as in db_report; so are lateness_ns and invalid */
    int64_t lateness_ns;
    int64_t invalid;
    int64_t needs; /* this process's needs (enum db_need); the maximum is 0 only if no process has a need */
};

/* Sends the report to process 0. On process 0, returns after all processes have reported, with the maximum of each word
 * in `maxima`; other processes do not get `maxima`. */
int db_gather_reports(struct db_state *state, const struct db_report *report, struct db_report *maxima);

/* Broadcasts process 0's decision; all processes use its patience from now on. */
int db_spread_decision(struct db_state *state, struct db_decision *decision);

/* Exchanges entries. Returns after all processes have called it, with the maximum of each word in `entry`. */
int db_exchange_entries(struct db_state *state, struct db_entry *entry);

/* Detects oversubscribed processors, and sets the first patience: yield if oversubscribed, else sleep until calls have
 * gone well. Collective. */
int db_waiting_begin(struct db_state *state);

/* On process 0: returns the patience for later messages. `maxima` are the maxima of all reports on the last call. */
enum db_patience db_waiting_next(struct db_state *state, const struct db_report *maxima);

/* Returns DB_NEED_PATIENCE if process 0 may have to change the patience after `report`, else 0. */
int db_waiting_need(const struct db_state *state, const struct db_report *report);

/* Sets the patience to DB_BLOCK, unless processors are oversubscribed. For measurements of messages (trial.c). */
void db_waiting_block(struct db_state *state);

#endif
