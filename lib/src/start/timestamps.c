/* The public functions of downbeat/clock.h that exchange timestamps. */
#include "start/state.h"
#include <downbeat/clock.h>

#define NS 1e-9

/* One end of a connection, and the clock that it reads. */
struct connection {
    struct db_channel channel;
    struct db_clock_map local;
    struct db_timeline timeline;
    int asking;
    int peer;
};

static int in_group(int rank, const struct db_state *state) { return rank >= 0 && rank < state->size; }

static int begin_exchanges(struct connection *connection, const struct db_state *state, int asker, int answerer,
                           int timeline) {
    if (!in_group(asker, state) || !in_group(answerer, state) || asker == answerer ||
        (state->rank != asker && state->rank != answerer))
        return MPI_ERR_RANK;
    if (timeline != DOWNBEAT_LOCAL && timeline != DOWNBEAT_GLOBAL)
        return MPI_ERR_ARG;
    connection->channel = state->channel;
    connection->local = state->clocks.local;
    connection->timeline.clock = &state->clocks.clock;
    connection->timeline.map = timeline == DOWNBEAT_GLOBAL ? &state->clocks.map : &connection->local;
    connection->asking = state->rank == asker;
    connection->peer = connection->asking ? answerer : asker;
    return MPI_SUCCESS;
}

static struct db_asker asker_of(const struct connection *connection) {
    return (struct db_asker){
        .channel = &connection->channel, .peer = connection->peer, .timeline = connection->timeline};
}

static int answer(const struct connection *connection) {
    return db_exchange_serve(&connection->channel, connection->peer, &connection->timeline);
}

static int record(const struct connection *connection, int count, Downbeat_exchange *exchanges) {
    const struct db_asker asker = asker_of(connection);
    DB_TRY(db_exchange_begin(&asker));
    for (int i = 0; i < count; ++i) {
        struct db_exchange exchange;
        DB_TRY(db_exchange_ask(&asker, &exchange));
        exchanges[i] = (Downbeat_exchange){exchange.sent, exchange.remote, exchange.received};
    }
    struct db_standing standing;
    return db_exchange_stop(&asker, &standing);
}

int Downbeat_record(MPI_Comm comm, int asker, int answerer, int timeline, int count, Downbeat_exchange *exchanges) {
    struct db_state *state;
    struct connection connection;
    DB_TRY(db_check_mpi("Downbeat_record"));
    int code = db_state_find(comm, &state);
    if (code == MPI_SUCCESS)
        code = begin_exchanges(&connection, state, asker, answerer, timeline);
    if (code == MPI_SUCCESS && (count < 1 || (connection.asking && exchanges == NULL)))
        code = MPI_ERR_ARG;
    if (code == MPI_SUCCESS)
        code = connection.asking ? record(&connection, count, exchanges) : answer(&connection);
    return db_raise(comm, code);
}

static int measure_offset(const struct connection *connection, const struct db_node *estimator, double skew,
                          Downbeat_offset *found) {
    const struct db_asker asker = asker_of(connection);
    struct db_pair pair = {0};
    struct db_offset offset;
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(db_offset_measure(estimator, &asker, &pair, &offset));
    DB_TRY(db_exchange_stop(&asker, &standing));
    *found = (Downbeat_offset){
        .offset = offset.offset_ns * NS,
        .bound = (db_offset_bound(&offset) + skew * offset.duration_ns + connection->timeline.clock->resolution_ns +
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
static int decline(const struct connection *connection) {
    const struct db_asker asker = asker_of(connection);
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    return db_exchange_stop(&asker, &standing);
}

/* The asker's part: an estimator that is not valid must not leave the answerer waiting. */
static int ask(const struct connection *connection, const struct db_state *state, const char *estimator,
               Downbeat_offset *found) {
    struct db_scheme chosen;
    struct db_reason reason;
    char message[DOWNBEAT_MAX_MESSAGE];
    const char *text = estimator != NULL ? estimator : "skampi";
    if (found == NULL || db_scheme_parse(&chosen, "offset", text, message) != 0) {
        int code = MPI_ERR_ARG;
        if (found != NULL) {
            code = -db_explain(&reason, code, "estimator '%s': %s", text, message);
            db_tell_error(reason.text);
        }
        DB_TRY(decline(connection));
        return code;
    }
    return measure_offset(connection, &chosen.nodes[0], state->settings.max_skew + 2.0 * state->clocks.local_rate_error,
                          found);
}

int Downbeat_measure(MPI_Comm comm, int asker, int answerer, int timeline, const char *estimator,
                     Downbeat_offset *found) {
    struct db_state *state;
    struct connection connection;
    DB_TRY(db_check_mpi("Downbeat_measure"));
    int code = db_state_find(comm, &state);
    if (code == MPI_SUCCESS)
        code = begin_exchanges(&connection, state, asker, answerer, timeline);
    if (code == MPI_SUCCESS)
        code = connection.asking ? ask(&connection, state, estimator, found) : answer(&connection);
    return db_raise(comm, code);
}
