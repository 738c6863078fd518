/* Every offset estimator over simulated exchanges, where the offset is known. Without MPI: this file stands in for
 * exchange.c. */
#include "base/error.h"
#include "check.h"
#include "offset/offset.h"
#include "start/scheme.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define TRUE_OFFSET 123456789

static int64_t now;
static double drift; /* of the peer's clock, relative */
static int asked;
static int64_t (*forth)(void); /* delays of the simulated network, ns */
static int64_t (*back)(void);

static int64_t quiet(void) { return 1500; }
static int64_t slow(void) { return 4500; }

/* An interruption of the asker in every tenth exchange. */
static int64_t interrupted(void) { return asked % 10 == 3 ? 501500 : 1500; }

/* A network that calms down in the 37th exchange. */
static int64_t calms_down(void) { return asked < 36 ? 4500 : 1500; }

/* Each exchange has a round trip of 200 ns more than the one before it, and so an error of 100 ns more. */
static int64_t ever_slower(void) { return 1500 + 200 * asked; }

int db_exchange_begin(const struct db_asker *asker) {
    (void)asker;
    return MPI_SUCCESS;
}

int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange) {
    (void)asker;
    exchange->sent = now;
    now += forth();
    exchange->remote = now + TRUE_OFFSET + llrint(drift * (double)now);
    now += back();
    exchange->received = now;
    now += 50;
    ++asked;
    return MPI_SUCCESS;
}

int db_exchange_stop(const struct db_asker *asker, struct db_timeline_error *error) {
    (void)asker;
    (void)error;
    CHECK(!"an estimator leaves it to its caller to stop");
    return MPI_ERR_OTHER;
}

int db_exchange_serve(const struct db_channel *channel, int peer, const struct db_timeline *timeline) {
    (void)channel;
    (void)peer;
    (void)timeline;
    return MPI_ERR_OTHER;
}

static int64_t read_now(const struct db_clock *clock) {
    (void)clock;
    return now;
}

static const struct db_clock_type simulated = {.read = read_now};
static const struct db_clock simulated_clock = {.type = &simulated, .ns_per_tick = 1.0, .resolution_ns = 10.0};
static const struct db_clock_map identity = {.ns_per_tick = 1.0};

static struct db_offset estimate(const char *estimator, struct db_pair *pair) {
    static const struct db_asker asker = {.timeline = {.clock = &simulated_clock, .map = &identity}};
    struct db_scheme scheme;
    struct db_offset offset;
    char message[DOWNBEAT_MAX_MESSAGE];
    CHECK(db_scheme_parse(&scheme, "offset", estimator, message) == 0);
    asked = 0;
    CHECK(db_offset_measure(&scheme.nodes[0], &asker, pair, &offset) == MPI_SUCCESS);
    CHECK_THAT(offset.exchanges, ==, asked);
    return offset;
}

static struct db_offset measure(const char *estimator, struct db_pair *pair) {
    struct db_offset offset = estimate(estimator, pair);
    CHECK_THAT(fabs(offset.offset_ns - TRUE_OFFSET), <=, db_offset_bound(&offset));
    CHECK_THAT(offset.lower_ns, <=, TRUE_OFFSET);
    CHECK_THAT(offset.upper_ns, >=, TRUE_OFFSET);
    CHECK_THAT(offset.at, <=, now);
    return offset;
}

static double error(const char *estimator) {
    struct db_pair pair = {0};
    return measure(estimator, &pair).offset_ns - TRUE_OFFSET;
}

static const char *name_of(const void *type) { return ((const struct db_component *)type)->described.name; }

/* Half the difference of the directions, for every method there is; and the bound covers it. */
static void asymmetry_biases_all(void) {
    forth = slow;
    back = quiet;
    for (const void *const *type = db_offset_types; *type != NULL; ++type) {
        struct db_pair pair = {0};
        struct db_offset offset = measure(name_of(*type), &pair);
        CHECK_THAT(offset.offset_ns - TRUE_OFFSET, ==, 1500);
        CHECK_THAT(db_offset_bound(&offset), ==, 3000);
        CHECK_THAT(offset.deviation_ns, ==, 0);
    }
}

/* Interruptions of 0.5 ms in a tenth of the exchanges: only the mean over all of them is moved. */
static void interruptions(void) {
    forth = quiet;
    back = interrupted;
    for (const void *const *type = db_offset_types; *type != NULL; ++type)
        CHECK_THAT(error(name_of(*type)), ==, *type == &db_offset_cristian ? -25000 : 0);
}

/* skampi stops after `min` exchanges when round trips are as good as known, and works for it otherwise. */
static void early_stop(void) {
    forth = quiet;
    back = quiet;
    struct db_pair pair = {0};
    measure("skampi", &pair);
    CHECK_THAT(asked, ==, 10);
    CHECK_THAT(pair.best_rtt_ns, ==, 3000);

    forth = slow; /* twice the known round trip: goes on to the end */
    measure("skampi", &pair);
    CHECK_THAT(asked, ==, 100);

    forth = calms_down;
    pair.best_rtt_ns = 3000;
    measure("skampi", &pair);
    CHECK_THAT(asked, ==, 37);

    forth = slow; /* for good: what once was possible is forgotten after a few synchronizations */
    for (int i = 0; i < 5; ++i)
        measure("skampi", &pair);
    CHECK_THAT(asked, ==, 10);
}

static int exchanges_of(const char *estimator) {
    struct db_pair pair = {0};
    measure(estimator, &pair);
    return asked;
}

static void as_many_exchanges_as_asked(void) {
    forth = quiet;
    back = quiet;
    CHECK_THAT(exchanges_of("skampi(min=3,max=7)"), ==, 3);
    CHECK_THAT(exchanges_of("netgauge(stop=20)"), ==, 21);
    CHECK_THAT(exchanges_of("cristian(exchanges=30)"), ==, 30);
    CHECK_THAT(exchanges_of("best_rtt(exchanges=40,share=0.5)"), ==, 40);
    CHECK_THAT(exchanges_of("best_rtt(exchanges=1,share=0)"), ==, 1);
    CHECK_THAT(exchanges_of("mean_rtt(rtt=50,exchanges=10)"), ==, 5 + 50 + 10);

    /* The round trip is measured once per pair and synchronization. */
    struct db_pair pair = {0};
    measure("mean_rtt(rtt=50,exchanges=10)", &pair);
    CHECK_THAT(pair.mean_rtt_ns, ==, 3000);
    measure("mean_rtt(rtt=50,exchanges=10)", &pair);
    CHECK_THAT(asked, ==, 10);

    /* The smallest round trip comes as the 37th. */
    forth = calms_down;
    CHECK_THAT(exchanges_of("netgauge(stop=100)"), ==, 137);
}

/* Offsets of successive exchanges differ by 100 ns, so n of them have a standard deviation of
 * 100 ns * sqrt(n (n + 1) / 12). */
static void deviation_of_single_exchanges(void) {
    forth = ever_slower;
    back = quiet;
    for (int n = 2; n <= 40; n += 19) {
        char estimator[64];
        struct db_pair pair = {0};
        snprintf(estimator, sizeof estimator, "best_rtt(exchanges=%d)", n);
        CHECK_THAT(fabs(measure(estimator, &pair).deviation_ns - 100.0 * sqrt(n * (n + 1) / 12.0)), <, 1e-3);
    }
}

/* The mean over so many of the best exchanges: neither over all nor the best one alone. */
static void best_rtt_keeps_its_share(void) {
    forth = ever_slower;
    back = quiet;
    CHECK_THAT(fabs(error("best_rtt(exchanges=40,share=0)")), <, 1);
    CHECK_THAT(fabs(error("best_rtt(exchanges=40,share=0.25)") - 450), <, 1);
    CHECK_THAT(fabs(error("best_rtt(exchanges=40,share=0.5)") - 950), <, 1);
    CHECK_THAT(fabs(error("best_rtt(exchanges=40,share=1)") - 1950), <, 1);
}

/* Where the clocks drift apart, an offset is right at its own instant: half an exchange either way may be off. */
static void offsets_are_those_of_their_instants(void) {
    static const char *const of_instants[] = {"netgauge(stop=100)",
                                              "mean_rtt",
                                              "cristian",
                                              "cristian(exchanges=7)",
                                              "best_rtt(exchanges=40,share=1)",
                                              "best_rtt(exchanges=40,share=0)"};
    forth = quiet;
    back = quiet;
    for (size_t i = 0; i < sizeof of_instants / sizeof *of_instants; ++i) {
        for (drift = -1e-2; drift < 0.02; drift += 2e-2) {
            struct db_pair pair = {0};
            struct db_offset offset = estimate(of_instants[i], &pair);
            double truth_ns = TRUE_OFFSET + drift * (double)offset.at;
            CHECK_THAT(fabs(offset.offset_ns - truth_ns), <=, 1.0 + fabs(drift) * 1500.0);
            CHECK_THAT(offset.at, <=, now);
        }
    }
    drift = 0.0;
}

int main(void) {
    asymmetry_biases_all();
    interruptions();
    early_stop();
    as_many_exchanges_as_asked();
    deviation_of_single_exchanges();
    best_rtt_keeps_its_share();
    offsets_are_those_of_their_instants();
    return 0;
}
