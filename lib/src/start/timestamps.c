/* The public functions of downbeat/clock.h that exchange timestamps. */
#include "start/prepare.h"

#include <downbeat/clock.h>

#define NS 1e-9 /* in seconds */

/* This process's side of a pair of processes that exchange timestamps. */
struct exchange_side {
    const struct db_state *state;
    struct db_asker end; /* channel, peer and timeline of this process, also on the answerer */
    int is_asker;        /* 1 on the asker, 0 on the answerer */
};

static int is_rank(int rank, const struct db_state *state) { return rank >= 0 && rank < state->size; }

/* Checks the arguments, and sets this process's side. */
static int begin_exchanges(struct exchange_side *exchange_side, MPI_Comm comm, int asker, int answerer, int timeline) {
    struct db_state *state;
    DB_TRY(db_state_find(comm, &state));
    if (!is_rank(asker, state) || !is_rank(answerer, state) || asker == answerer ||
        (state->rank != asker && state->rank != answerer))
        return MPI_ERR_RANK;
    if (timeline != DOWNBEAT_LOCAL && timeline != DOWNBEAT_GLOBAL)
        return MPI_ERR_ARG;
    exchange_side->state = state;
    exchange_side->is_asker = state->rank == asker;
    exchange_side->end.channel = &state->channel;
    exchange_side->end.peer = exchange_side->is_asker ? answerer : asker;
    exchange_side->end.timeline.clock = &state->clocks.clock;
    exchange_side->end.timeline.map = timeline == DOWNBEAT_GLOBAL ? &state->clocks.map : &state->clocks.local;
    return MPI_SUCCESS;
}

/* The answerer's side: answers until the asker stops the exchanges. */
static int answer(const struct db_asker *end) { return db_exchange_serve(end->channel, end->peer, &end->timeline); }

/* Records `count` exchanges. */
static int record(const struct db_asker *end, int count, Downbeat_exchange *exchanges) {
    DB_TRY(db_exchange_begin(end));
    for (int i = 0; i < count; ++i) {
        struct db_exchange exchange;
        DB_TRY(db_exchange_ask(end, &exchange));
        exchanges[i] = (Downbeat_exchange){exchange.sent, exchange.remote, exchange.received};
    }
    struct db_timeline_error error; /* not used */
    return db_exchange_stop(end, &error);
}

int Downbeat_record(MPI_Comm comm, int asker, int answerer, int timeline, int count, Downbeat_exchange *exchanges) {
    struct exchange_side exchange_side;
    DB_TRY(db_check_mpi("Downbeat_record"));
    int code = begin_exchanges(&exchange_side, comm, asker, answerer, timeline);
    if (code == MPI_SUCCESS && (count < 1 || (exchange_side.is_asker && exchanges == NULL)))
        code = MPI_ERR_ARG;
    if (code == MPI_SUCCESS)
        code = exchange_side.is_asker ? record(&exchange_side.end, count, exchanges) : answer(&exchange_side.end);
    return db_raise(comm, code);
}

/* Measures the offset of the answerer's clock. */
static int measure_offset(const struct exchange_side *exchange_side, const struct db_node *estimator,
                          Downbeat_offset *result) {
    const struct db_asker *end = &exchange_side->end;
    double skew = exchange_side->state->settings.max_skew + 2.0 * exchange_side->state->clocks.local_rate_error;
    struct db_pair pair = {0};
    struct db_offset offset;
    struct db_timeline_error error;
    DB_TRY(db_exchange_begin(end));
    DB_TRY(db_offset_measure(estimator, end, &pair, &offset));
    DB_TRY(db_exchange_stop(end, &error));
    *result = (Downbeat_offset){
        .offset = offset.offset_ns * NS,
        .bound = (db_offset_bound(&offset) + skew * offset.duration_ns + end->timeline.clock->resolution_ns +
                  DB_ROUNDING_NS) *
                 NS,
        .deviation = offset.deviation_ns * NS,
        .rtt = offset.rtt_ns * NS,
        .at = (double)offset.at * NS,
        .exchanges = offset.exchanges,
    };
    return MPI_SUCCESS;
}

/* Ends the exchanges before the first one, to release the answerer. */
static int decline(const struct db_asker *end) {
    struct db_timeline_error error;
    DB_TRY(db_exchange_begin(end));
    return db_exchange_stop(end, &error);
}

/* The asker's side. If the estimator is not valid, it must release the answerer. */
static int ask(const struct exchange_side *exchange_side, const char *estimator, Downbeat_offset *result) {
    struct db_scheme chosen;
    struct db_reason reason;
    char message[DOWNBEAT_MAX_MESSAGE];
    const char *text = estimator != NULL ? estimator : "skampi";
    if (result == NULL || db_scheme_parse(&chosen, "offset", text, message) != 0) {
        int code = MPI_ERR_ARG;
        if (result != NULL) {
            /* Negative: the error is printed here, so db_raise does not print it again. */
            code = -db_explain(&reason, code, "estimator '%s': %s", text, message);
            db_print_error(reason.text);
        }
        DB_TRY(decline(&exchange_side->end));
        return code;
    }
    return measure_offset(exchange_side, &chosen.nodes[0], result);
}

int Downbeat_measure(MPI_Comm comm, int asker, int answerer, int timeline, const char *estimator,
                     Downbeat_offset *result) {
    struct exchange_side exchange_side;
    DB_TRY(db_check_mpi("Downbeat_measure"));
    int code = begin_exchanges(&exchange_side, comm, asker, answerer, timeline);
    if (code == MPI_SUCCESS)
        code = exchange_side.is_asker ? ask(&exchange_side, estimator, result) : answer(&exchange_side.end);
    return db_raise(comm, code);
}
