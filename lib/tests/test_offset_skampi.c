/* The SKaMPI interval over simulated exchanges, where the offset is known. Without MPI: this file stands in for
 * exchange.c. */
#include "check.h"
#include "offset.h"

#include <math.h>
#include <stdint.h>

#define TRUE_OFFSET 123456789

static uint64_t random_state = 42;
static int64_t now;
static int asked;
static int stopped;
static int64_t (*forth)(void); /* delays of the simulated network, ns */
static int64_t (*back)(void);

static double uniform(void) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (double)(random_state >> 11) * 0x1p-53;
}

static int64_t heavy(void) {
    double delay = 1500.0 - 150.0 * log(1.0 - uniform());
    if (uniform() < 0.1)
        delay += 200.0 * pow(1.0 - uniform(), -1.0 / 1.5);
    return (int64_t)delay;
}

static int64_t quiet(void) { return 1500; }
static int64_t slow(void) { return 4500; }

/* A network that calms down in the 37th exchange. */
static int64_t calms_down(void) { return asked < 36 ? 4500 : 1500; }

int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange) {
    (void)asker;
    CHECK(!stopped);
    exchange->sent = now;
    now += forth();
    exchange->remote = now + TRUE_OFFSET;
    now += back();
    exchange->received = now;
    now += 50;
    ++asked;
    return MPI_SUCCESS;
}

int db_exchange_stop(const struct db_asker *asker, int64_t *bound_ns) {
    (void)asker;
    *bound_ns = 77;
    ++stopped;
    return MPI_SUCCESS;
}

static struct db_offset measure(struct db_pair *pair) {
    static const struct db_clock clock = {.resolution_ns = 10.0};
    static const struct db_asker asker = {.timeline = {.clock = &clock}};
    struct db_offset offset;
    asked = 0;
    stopped = 0;
    CHECK(db_offset_skampi.measure(&asker, pair, &offset) == MPI_SUCCESS);
    CHECK_THAT(stopped, ==, 1);
    CHECK_THAT(offset.peer_bound_ns, ==, 77);
    CHECK_THAT(fabs(offset.offset_ns - TRUE_OFFSET), <=, offset.bound_ns);
    return offset;
}

/* The bound is hard: truth lies inside whatever the network does; and the estimate is good. */
static void truth_is_inside(void) {
    forth = heavy;
    back = heavy;
    double error_sum = 0.0;
    struct db_pair pair = {0};
    for (int i = 0; i < 2000; ++i) {
        struct db_offset offset = measure(&pair);
        error_sum += fabs(offset.offset_ns - TRUE_OFFSET);
        CHECK_THAT(offset.bound_ns, <=, 2000);
    }
    CHECK_THAT(error_sum / 2000, <, 40);
}

static void asymmetry_stays_inside_too(void) {
    forth = slow;
    back = quiet;
    struct db_pair pair = {0};
    struct db_offset offset = measure(&pair);
    CHECK_THAT(fabs(offset.offset_ns - TRUE_OFFSET), ==, 1500); /* half the difference of the directions */
    CHECK_THAT(offset.bound_ns, ==, 3000);
}

/* Stops after 10 exchanges when round trips are as good as known, and works for it otherwise. */
static void early_stop(void) {
    forth = quiet;
    back = quiet;
    struct db_pair pair = {0};
    measure(&pair);
    CHECK_THAT(asked, ==, 10);
    CHECK_THAT(pair.best_rtt_ns, ==, 3000);

    forth = slow; /* twice the known round trip: goes on to the end */
    measure(&pair);
    CHECK_THAT(asked, ==, 100);

    forth = calms_down;
    pair.best_rtt_ns = 3000;
    measure(&pair);
    CHECK_THAT(asked, ==, 37);

    forth = slow; /* for good: what once was possible is forgotten after a few synchronizations */
    for (int i = 0; i < 5; ++i)
        measure(&pair);
    CHECK_THAT(asked, ==, 10);
}

int main(void) {
    truth_is_inside();
    asymmetry_stays_inside_too();
    early_stop();
    return 0;
}
