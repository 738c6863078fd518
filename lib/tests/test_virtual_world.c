/* The world in virtual time does what the tests of the schemes take for granted: clocks as given, delays as given, one
 * seed one result. test_schemes_rounds.c counts the messages of its collectives. Without MPI. */
#include "check.h"
#include "virtual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANY 37

static const struct virtual_model model = {.seed = 1,
                                           .offset_ns = 1e9,
                                           .skew = 9.9e-6,
                                           .wander = 0.1e-6,
                                           .calibration = 1e-6,
                                           .ns_per_tick = 0.4347,
                                           .read_ns = 20};

static struct virtual_model with(uint64_t seed, const struct virtual_network *network) {
    struct virtual_model result = model;
    result.seed = seed;
    result.network = *network;
    return result;
}

/* Readings and a wait, to compare with the oscillator. */
static void read_and_wait(int process, void *argument) {
    (void)process;
    int64_t *readings = argument;
    const struct db_clock *clock = virtual_clock();
    readings[0] = db_clock_read(clock);
    readings[1] = clock->type->wait_until(clock, readings[0] + 1000000000);
    readings[2] = clock->type->wait_until(clock, readings[0]); /* long past: a single reading */
}

static void clocks_show_what_they_are_given(void) {
    struct virtual_model quiet = with(7, &virtual_quiet);
    struct virtual_world *world = virtual_create(&quiet, 1);
    int64_t readings[3];
    *virtual_oscillator(world, 0) =
        (struct virtual_oscillator){.offset_ns = -123456.0, .skew = 10e-6, .ns_per_tick = 0.5, .calibration = 1e-6};
    virtual_pass_until(world, 2e9);
    virtual_run(world, read_and_wait, readings);
    /* A reading takes 20 ns and shows the instant in its middle. */
    CHECK_THAT(readings[0] - virtual_ticks(world, 0, 0.0), ==, floor((2e9 + 10.0) * (1 + 10e-6) / 0.5));
    CHECK_THAT(readings[1] - readings[0], >=, 1000000000);
    CHECK_THAT(readings[1] - readings[0], <=, 1000000000 + 41); /* ends late by a reading at most */
    CHECK_THAT(readings[2] - readings[1], ==, 40);
    CHECK_THAT(fabs(virtual_now(world) - (2e9 + 0.5e9 / (1 + 10e-6))), <, 100.0);
    CHECK_THAT(virtual_ticks(world, 0, 1000.0) - virtual_ticks(world, 0, 0.0), ==, 2000);

    /* Seen through a map that is right about the rate. */
    struct db_clock_map map = {
        .ticks = virtual_ticks(world, 0, 0.0), .global_ns = 5000, .ns_per_tick = 0.5 / (1 + 10e-6)};
    CHECK_THAT(fabs(virtual_global_ns(world, 0, &map, 10e9) - 10e9 - 5000), <, 0.5);
    virtual_free(world);
}

static void clocks_are_drawn_from_the_whole_range(void) {
    struct virtual_model quiet = with(3, &virtual_quiet);
    struct virtual_world *world = virtual_create(&quiet, 200);
    double most_offset_ns = 0.0;
    double most_skew = 0.0;
    double fastest = 0.0;
    for (int i = 0; i < 200; ++i) {
        const struct virtual_oscillator *oscillator = virtual_oscillator(world, i);
        const struct db_clock_map map = {.ticks = virtual_ticks(world, i, 0.0), .ns_per_tick = model.ns_per_tick};
        most_offset_ns = fmax(most_offset_ns, fabs(oscillator->offset_ns));
        most_skew = fmax(most_skew, fabs(oscillator->skew));
        for (double t = 0.0; t < 20e9; t += 0.1e9) {
            double rate = (virtual_global_ns(world, i, &map, t + 1e6) - virtual_global_ns(world, i, &map, t)) / 1e6;
            fastest = fmax(fastest, fabs(rate - 1.0 - oscillator->skew));
        }
    }
    CHECK_THAT(most_offset_ns, <=, 1e9);
    CHECK_THAT(most_offset_ns, >, 0.95e9);
    CHECK_THAT(most_skew, <=, 9.9e-6);
    CHECK_THAT(most_skew, >, 9.4e-6);
    CHECK_THAT(fastest, <=, 0.1001e-6);
    CHECK_THAT(fastest, >, 0.09e-6);
    virtual_free(world);
}

/* 1000 round trips between two processes, in ticks of process 0. */
#define ROUND_TRIPS 1000

struct round_trips {
    struct db_channel channel;
    double ns[ROUND_TRIPS];
};

static void ping_pong(int process, void *argument) {
    struct round_trips *trips = argument;
    const struct db_clock *clock = virtual_clock();
    for (int i = 0; i < ROUND_TRIPS; ++i) {
        int64_t word = i;
        if (process == 0) {
            int64_t sent = db_clock_read(clock);
            CHECK(db_send(&trips->channel, &word, 1, 1) == MPI_SUCCESS);
            CHECK(db_receive(&trips->channel, &word, 1, 1) == MPI_SUCCESS);
            trips->ns[i] = (double)(db_clock_read(clock) - sent) * model.ns_per_tick;
            CHECK_THAT(word, ==, i + 1);
        } else {
            CHECK(db_receive(&trips->channel, &word, 1, 0) == MPI_SUCCESS);
            ++word;
            CHECK(db_send(&trips->channel, &word, 1, 0) == MPI_SUCCESS);
        }
    }
}

/* Slow one way, and slower still after a second. */
static double slow_there(int source, int destination, double true_ns) {
    double slowness = true_ns < 1e9 ? 1.0 : 2.0;
    return source < destination ? 3000.0 * slowness : 0.0;
}

static void measure_round_trips(const struct virtual_network *network, double begin_ns, struct round_trips *trips) {
    struct virtual_model with_network = with(11, network);
    struct virtual_world *world = virtual_create(&with_network, 2);
    trips->channel = virtual_channel(world, NULL, 2);
    virtual_pass_until(world, begin_ns);
    virtual_run(world, ping_pong, trips);
    CHECK_THAT(virtual_messages_between(world, 0, 1), ==, ROUND_TRIPS);
    CHECK_THAT(virtual_messages(world), ==, 2 * ROUND_TRIPS);
    CHECK_THAT(virtual_depth(world), ==, 2 * ROUND_TRIPS);
    qsort(trips->ns, ROUND_TRIPS, sizeof *trips->ns, virtual_ascending);
    virtual_free(world);
}

static void delays_are_as_given(void) {
    /* Twice sending, receiving and the way, and a reading; clocks run at their own rate and in whole ticks. */
    const double overhead_ns = 2 * (100 + 100) + 20;
    struct round_trips trips;
    measure_round_trips(&virtual_quiet, 0.0, &trips);
    CHECK_THAT(trips.ns[0], >=, 2 * 1500 + overhead_ns - 1);
    CHECK_THAT(trips.ns[ROUND_TRIPS - 1], <=, 2 * 1500 + overhead_ns + 1);

    struct virtual_network uneven = virtual_quiet;
    uneven.path_ns = slow_there;
    measure_round_trips(&uneven, 0.0, &trips);
    CHECK_THAT(fabs(trips.ns[ROUND_TRIPS / 2] - (2 * 1500 + 3000 + overhead_ns)), <=, 1);

    measure_round_trips(&uneven, 1e9, &trips);
    CHECK_THAT(fabs(trips.ns[ROUND_TRIPS / 2] - (2 * 1500 + 6000 + overhead_ns)), <=, 1);

    /* Two exponentials of 150 ns alone have their median at 1.678 * 150 ns. */
    struct virtual_network light = virtual_heavy;
    light.tail_share = 0.0;
    measure_round_trips(&light, 0.0, &trips);
    CHECK_THAT(trips.ns[0], >=, 2 * 1500 + overhead_ns - 1);
    CHECK_THAT(fabs(trips.ns[ROUND_TRIPS / 2] - (2 * 1500 + overhead_ns + 1.678 * 150)), <, 25);

    /* In 19 % of the round trips one of the messages takes at least 200 ns more, and 1 % of these 200 * 100^(2/3). */
    measure_round_trips(&virtual_heavy, 0.0, &trips);
    CHECK_THAT(trips.ns[ROUND_TRIPS / 2] - (2 * 1500 + overhead_ns), <, 1.678 * 150 + 100);
    CHECK_THAT(trips.ns[ROUND_TRIPS - 1] - (2 * 1500 + overhead_ns), >, 200 * pow(100, 2.0 / 3.0));
}

/* A ring in which everybody sends to both neighbors, for some rounds: many possible orders of scheduling. */
struct ring {
    struct db_channel channel;
    int64_t readings[MANY];
};

static void go_round(int process, void *argument) {
    struct ring *ring = argument;
    int left = (process + MANY - 1) % MANY;
    int right = (process + 1) % MANY;
    for (int i = 0; i < 20; ++i) {
        int64_t word = db_clock_read(virtual_clock());
        CHECK(db_send(&ring->channel, &word, 1, left) == MPI_SUCCESS);
        CHECK(db_send(&ring->channel, &word, 1, right) == MPI_SUCCESS);
        CHECK(db_receive(&ring->channel, &word, 1, right) == MPI_SUCCESS);
        CHECK(db_receive(&ring->channel, &word, 1, left) == MPI_SUCCESS);
    }
    ring->readings[process] = db_clock_read(virtual_clock());
}

static double run_ring(uint64_t seed, struct ring *ring) {
    struct virtual_model heavy = with(seed, &virtual_heavy);
    struct virtual_world *world = virtual_create(&heavy, MANY);
    ring->channel = virtual_channel(world, NULL, MANY);
    virtual_run(world, go_round, ring);
    double now_ns = virtual_now(world);
    CHECK_THAT(virtual_depth(world), ==, 20);
    virtual_free(world);
    return now_ns;
}

static void one_seed_one_result(void) {
    struct ring first;
    struct ring again;
    struct ring other;
    double now_ns = run_ring(21, &first);
    for (int i = 0; i < 3; ++i) {
        CHECK(run_ring(21, &again) == now_ns);
        CHECK(memcmp(first.readings, again.readings, sizeof first.readings) == 0);
    }
    CHECK(run_ring(22, &other) != now_ns);
    CHECK(memcmp(first.readings, other.readings, sizeof first.readings) != 0);
}

int main(void) {
    clocks_show_what_they_are_given();
    clocks_are_drawn_from_the_whole_range();
    delays_are_as_given();
    one_seed_one_result();
    return 0;
}
