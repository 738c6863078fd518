/* The public functions of downbeat/clock.h that exchange timestamps. */
#include "start/state.h"
#include <downbeat/clock.h>

#define NS 1e-9

/* The two ends of a study, and the clock that they look at. */
struct study {
    struct db_channel channel;
    struct db_clock_map local;
    struct db_timeline timeline;
    int asking;
    int peer;
};

static int in_group(int rank, const struct db_state *state) { return rank >= 0 && rank < state->size; }

static int begin_study(struct study *study, const struct db_state *state, int asker, int answerer, int timeline) {
    if (!in_group(asker, state) || !in_group(answerer, state) || asker == answerer ||
        (state->rank != asker && state->rank != answerer))
        return MPI_ERR_RANK;
    if (timeline != DOWNBEAT_LOCAL && timeline != DOWNBEAT_GLOBAL)
        return MPI_ERR_ARG;
    study->channel = state->channel;
    study->local = state->clocks.local;
    study->timeline.clock = &state->clocks.clock;
    study->timeline.map = timeline == DOWNBEAT_GLOBAL ? &state->clocks.map : &study->local;
    study->asking = state->rank == asker;
    study->peer = study->asking ? answerer : asker;
    return MPI_SUCCESS;
}

static struct db_asker asker_of(const struct study *study) {
    return (struct db_asker){.channel = &study->channel, .peer = study->peer, .timeline = study->timeline};
}

static int answer(const struct study *study) {
    return db_exchange_serve(&study->channel, study->peer, &study->timeline);
}

static int record(const struct study *study, int count, Downbeat_exchange *exchanges) {
    const struct db_asker asker = asker_of(study);
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
    struct study study;
    DB_TRY(db_check_mpi("Downbeat_record"));
    int code = db_state_find(comm, &state);
    if (code == MPI_SUCCESS)
        code = begin_study(&study, state, asker, answerer, timeline);
    if (code == MPI_SUCCESS && (count < 1 || (study.asking && exchanges == NULL)))
        code = MPI_ERR_ARG;
    if (code == MPI_SUCCESS)
        code = study.asking ? record(&study, count, exchanges) : answer(&study);
    return db_raise(comm, code);
}

static int measure_offset(const struct study *study, const struct db_node *estimator, double skew,
                          Downbeat_offset *found) {
    const struct db_asker asker = asker_of(study);
    struct db_pair pair = {0};
    struct db_offset offset;
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(db_offset_measure(estimator, &asker, &pair, &offset));
    DB_TRY(db_exchange_stop(&asker, &standing));
    *found = (Downbeat_offset){
        .offset = offset.offset_ns * NS,
        .bound = (db_offset_bound(&offset) + skew * offset.duration_ns + study->timeline.clock->resolution_ns +
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
static int decline(const struct study *study) {
    const struct db_asker asker = asker_of(study);
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    return db_exchange_stop(&asker, &standing);
}

/* The asker's part: an estimator that is not valid must not leave the answerer waiting. */
static int ask(const struct study *study, const struct db_state *state, const char *estimator, Downbeat_offset *found) {
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
        DB_TRY(decline(study));
        return code;
    }
    return measure_offset(study, &chosen.nodes[0], state->settings.max_skew + 2.0 * state->clocks.local_rate_error,
                          found);
}

int Downbeat_measure(MPI_Comm comm, int asker, int answerer, int timeline, const char *estimator,
                     Downbeat_offset *found) {
    struct db_state *state;
    struct study study;
    DB_TRY(db_check_mpi("Downbeat_measure"));
    int code = db_state_find(comm, &state);
    if (code == MPI_SUCCESS)
        code = begin_study(&study, state, asker, answerer, timeline);
    if (code == MPI_SUCCESS)
        code = study.asking ? ask(&study, state, estimator, found) : answer(&study);
    return db_raise(comm, code);
}
