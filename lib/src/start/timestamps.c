/* The public functions of downbeat/clock.h that exchange timestamps. */
#include "start/prepare.h"

#include <downbeat/clock.h>

#define NS 1e-9

/* One end of a connection. */
struct connection {
    const struct db_state *state;
    struct db_asker end;
    int asking;
};

static int in_group(int rank, const struct db_state *state) { return rank >= 0 && rank < state->size; }

static int begin_exchanges(struct connection *connection, MPI_Comm comm, int asker, int answerer, int timeline) {
    struct db_state *state;
    DB_TRY(db_state_find(comm, &state));
    if (!in_group(asker, state) || !in_group(answerer, state) || asker == answerer ||
        (state->rank != asker && state->rank != answerer))
        return MPI_ERR_RANK;
    if (timeline != DOWNBEAT_LOCAL && timeline != DOWNBEAT_GLOBAL)
        return MPI_ERR_ARG;
    connection->state = state;
    connection->asking = state->rank == asker;
    connection->end.channel = &state->channel;
    connection->end.peer = connection->asking ? answerer : asker;
    connection->end.timeline.clock = &state->clocks.clock;
    connection->end.timeline.map = timeline == DOWNBEAT_GLOBAL ? &state->clocks.map : &state->clocks.local;
    return MPI_SUCCESS;
}

static int answer(const struct db_asker *end) { return db_exchange_serve(end->channel, end->peer, &end->timeline); }

static int record(const struct db_asker *end, int count, Downbeat_exchange *exchanges) {
    DB_TRY(db_exchange_begin(end));
    for (int i = 0; i < count; ++i) {
        struct db_exchange exchange;
        DB_TRY(db_exchange_ask(end, &exchange));
        exchanges[i] = (Downbeat_exchange){exchange.sent, exchange.remote, exchange.received};
    }
    struct db_timeline_error error;
    return db_exchange_stop(end, &error);
}

int Downbeat_record(MPI_Comm comm, int asker, int answerer, int timeline, int count, Downbeat_exchange *exchanges) {
    struct connection connection;
    DB_TRY(db_check_mpi("Downbeat_record"));
    int code = begin_exchanges(&connection, comm, asker, answerer, timeline);
    if (code == MPI_SUCCESS && (count < 1 || (connection.asking && exchanges == NULL)))
        code = MPI_ERR_ARG;
    if (code == MPI_SUCCESS)
        code = connection.asking ? record(&connection.end, count, exchanges) : answer(&connection.end);
    return db_raise(comm, code);
}

static int measure_offset(const struct connection *connection, const struct db_node *estimator,
                          Downbeat_offset *found) {
    const struct db_asker *end = &connection->end;
    double skew = connection->state->settings.max_skew + 2.0 * connection->state->clocks.local_rate_error;
    struct db_pair pair = {0};
    struct db_offset offset;
    struct db_timeline_error error;
    DB_TRY(db_exchange_begin(end));
    DB_TRY(db_offset_measure(estimator, end, &pair, &offset));
    DB_TRY(db_exchange_stop(end, &error));
    *found = (Downbeat_offset){
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

/* Lets the answerer go. */
static int decline(const struct db_asker *end) {
    struct db_timeline_error error;
    DB_TRY(db_exchange_begin(end));
    return db_exchange_stop(end, &error);
}

/* The asker's part: an estimator that is not valid must not leave the answerer waiting. */
static int ask(const struct connection *connection, const char *estimator, Downbeat_offset *found) {
    struct db_scheme chosen;
    struct db_reason reason;
    char message[DOWNBEAT_MAX_MESSAGE];
    const char *text = estimator != NULL ? estimator : "skampi";
    if (found == NULL || db_scheme_parse(&chosen, "offset", text, message) != 0) {
        int code = MPI_ERR_ARG;
        if (found != NULL) {
            code = -db_explain(&reason, code, "estimator '%s': %s", text, message);
            db_print_error(reason.text);
        }
        DB_TRY(decline(&connection->end));
        return code;
    }
    return measure_offset(connection, &chosen.nodes[0], found);
}

int Downbeat_measure(MPI_Comm comm, int asker, int answerer, int timeline, const char *estimator,
                     Downbeat_offset *found) {
    struct connection connection;
    DB_TRY(db_check_mpi("Downbeat_measure"));
    int code = begin_exchanges(&connection, comm, asker, answerer, timeline);
    if (code == MPI_SUCCESS)
        code = connection.asking ? ask(&connection, estimator, found) : answer(&connection.end);
    return db_raise(comm, code);
}
