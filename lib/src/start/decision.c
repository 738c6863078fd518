/* Transport of reports, decisions and entries (decision.h), and the choice of the patience of later waits. */
#include "start/decision.h"

#include "start/processors.h"

/* After a process was descheduled (DB_DESCHEDULED_NS), waits sleep until this many calls in a row have gone well: two
 * spinning processes on one processor block each other. Chosen by hand; make bench, rows busy_..., measures the gain.
 * Half and twice the value are not measured. Depends on the load of the machine. */
#define PATIENT_CALLS 8
/* PATIENT_CALLS for a new communicator, whose processes may still be starting. Chosen by hand; half or twice the value
 * makes one trial round less or more. */
#define FIRST_PATIENT_CALLS 2

int db_gather_reports(struct db_state *state, const struct db_report *report, struct db_report *maxima) {
    enum { WORDS = sizeof *report / sizeof(int64_t) };
    _Static_assert(WORDS <= DB_MAILBOX_WORDS, "a report is one line");
    return db_transport_gather(&state->transport, &state->channel, (const int64_t *)report, (int64_t *)maxima, WORDS);
}

int db_spread_decision(struct db_state *state, struct db_decision *decision) {
    enum { WORDS = sizeof *decision / sizeof(int64_t) };
    _Static_assert(WORDS <= DB_MAILBOX_WORDS, "a decision is one line");
    DB_TRY(db_transport_spread(&state->transport, &state->channel, (int64_t *)decision, WORDS));
    state->waiting.patience = (enum db_patience)decision->patience;
    return MPI_SUCCESS;
}

int db_exchange_entries(struct db_state *state, struct db_entry *entry) {
    enum { WORDS = sizeof *entry / sizeof(int64_t) };
    _Static_assert(WORDS <= DB_MAILBOX_WORDS, "an entry is one line");
    return db_transport_exchange(&state->transport, &state->channel, (int64_t *)entry, WORDS);
}

int db_waiting_begin(struct db_state *state) {
    struct db_waiting *waiting = &state->waiting;
    int first = 0;
    struct db_processors processors;
    DB_TRY(db_processors_find(state->channel.comm, &processors));
    waiting->one_node = processors.one_node;
    waiting->oversubscribed = processors.oversubscribed;
    waiting->patience = waiting->oversubscribed ? DB_YIELD : DB_SLEEP;
    waiting->patient_calls = FIRST_PATIENT_CALLS;
    if (waiting->oversubscribed && state->rank == 0)
        DB_TRY(db_attribute_first_time(DB_FIRST_OVERSUBSCRIBED, &first));
    if (first)
        db_print("more processes than processors on a node: a process without a processor at the deadline starts late "
                 "and gets flag 0; run at most one process per processor");
    return MPI_SUCCESS;
}

/* True if the times of a call show that the process lost its processor. */
static int was_descheduled(const struct db_report *report) {
    return report->lag_ns > DB_DESCHEDULED_NS || report->lateness_ns > DB_DESCHEDULED_NS;
}

enum db_patience db_waiting_next(struct db_state *state, const struct db_report *maxima) {
    struct db_waiting *waiting = &state->waiting;
    if (waiting->oversubscribed)
        return DB_YIELD;
    if (was_descheduled(maxima))
        waiting->patient_calls = PATIENT_CALLS;
    else if (waiting->patient_calls > 0)
        --waiting->patient_calls;
    return waiting->patient_calls > 0 ? DB_SLEEP : DB_BLOCK;
}

int db_waiting_need(const struct db_state *state, const struct db_report *report) {
    const struct db_waiting *waiting = &state->waiting;
    if (waiting->oversubscribed)
        return 0;
    return was_descheduled(report) || (state->rank == 0 && waiting->patient_calls > 0) ? DB_NEED_PATIENCE : 0;
}

void db_waiting_block(struct db_state *state) {
    state->waiting.patience = state->waiting.oversubscribed ? DB_YIELD : DB_BLOCK;
    state->waiting.patient_calls = 0;
}
