/* The cost of synchronizations, in virtual time: the longest chain of messages, to which a scheme's O(p) or O(log p)
 * refers, and the number of exchanges; and that a seed determines all. Without MPI. */
#include "check.h"
#include "virtual_sync.h"

#include <math.h>
#include <string.h>

static const struct virtual_model clocks = {.seed = 1,
                                            .offset_ns = 1e9,
                                            .skew = 9.9e-6,
                                            .wander = 0.1e-6,
                                            .calibration = 1e-6,
                                            .ns_per_tick = 0.4347,
                                            .read_ns = 20};

static struct virtual_model clocks_on(const struct virtual_network *network) {
    struct virtual_model model = clocks;
    model.network = *network;
    return model;
}

static int log2_rounded_up(int size) {
    int levels = 0;
    while (1 << levels < size)
        ++levels;
    return levels;
}

static long depth_of(const char *scheme, int size, long *messages) {
    const struct virtual_model model = clocks_on(&virtual_heavy);
    struct virtual_sync sync = virtual_sync_create(&model, size, size, scheme);
    virtual_sync_run(&sync);
    long depth = virtual_depth(sync.world);
    *messages = virtual_messages(sync.world);
    virtual_sync_free(&sync);
    return depth;
}

/* For one pair: its exchanges, and the messages with which it begins and ends (exchange.h). */
static long messages_of_pair(int exchanges) { return 2 * exchanges + 3; }

struct cost {
    const char *scheme;
    int exchanges;  /* of each pair in the tree; 0: there is no tree */
    int one_by_one; /* exchanges of each pair with process 0; 0: there is none */
    int upwards;    /* 1 where models go up the tree and are scattered */
};

static const struct cost costs[] = {
    {"skampi(offset=skampi(min=5,max=5))", 0, 5, 0},
    {"skampi(offset=best_rtt(exchanges=7))", 0, 7, 0},
    {"cristian(offset=cristian(exchanges=5))", 0, 5, 0},
    {"jk(fit=4,over=0.01,offset=skampi(min=5,max=5))", 0, 20, 0},
    {"jk(fit=4,over=0,offset=mean_rtt(rtt=7,exchanges=3))", 0, 5 + 7 + 4 * 3, 0}, /* 5 to warm up */
    {"hca3_offset(offset=skampi(min=5,max=5))", 5, 0, 0},
    {"hca3_offset(offset=mean_rtt(rtt=7,exchanges=3))", 5 + 7 + 3, 0, 0},
    {"hca3(fit=4,over=0,offset=skampi(min=5,max=5))", 20, 0, 0},
    {"hca3(fit=4,over=0,offset=skampi(min=5,max=5),intercept=cristian(exchanges=6))", 26, 0, 0},
    {"netgauge(offset=skampi(min=5,max=5))", 5, 0, 1},
    {"hca2(fit=4,over=0,offset=best_rtt(exchanges=5),intercept=skampi(min=3,max=3))", 23, 0, 1},
    {"hca2(fit=4,over=0.01,offset=best_rtt(exchanges=5),intercept=fit)", 20, 0, 1},
    {"hca(fit=4,over=0,offset=skampi(min=5,max=5),intercept=skampi(min=3,max=3))", 20, 3, 1},
};

/* The bounds of the papers' complexity, with an exact count of messages. */
static void check_cost(const struct cost *cost, int size) {
    long messages;
    long depth = depth_of(cost->scheme, size, &messages);
    long pairs = size - 1;
    int rounds = log2_rounded_up(size);
    long tree = cost->exchanges > 0 ? messages_of_pair(cost->exchanges) : 0;
    long linear = cost->one_by_one > 0 ? messages_of_pair(cost->one_by_one) : 0;

    /* Up: models take one message more where there are some of the last round, and the scatter is as deep as the tree.
     */
    CHECK_THAT(messages, >=, pairs * (tree + linear + 2 * cost->upwards));
    CHECK_THAT(messages, <=, pairs * (tree + linear + 3 * cost->upwards));
    CHECK_THAT(depth, <=, rounds * (tree + 3 * cost->upwards) + pairs * linear);
    /* Process 0 takes part in all that goes one by one, but for the last message of each pair but the last. */
    if (cost->exchanges == 0)
        CHECK_THAT(depth, ==, pairs * (linear - 1) + 1);
    /* Through all levels of the tree; with as many processes as it has room for, to the last message. */
    if (cost->one_by_one == 0 && 1 << rounds == size)
        CHECK_THAT(depth, ==, rounds * (tree + 2 * cost->upwards));
}

static void costs_are_as_published(void) {
    const int sizes[] = {2, 3, 7, 8, 37, 64, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (size_t k = 0; k < sizeof costs / sizeof *costs; ++k)
            check_cost(&costs[k], sizes[i]);
}

/* In time, that is: sixteen times as many processes, 127 / 7 or 7 / 3 times as long. */
static void time_follows(void) {
    const struct virtual_model model = clocks_on(&virtual_quiet);
    static const char *const schemes[] = {"skampi", "hca3_offset", "netgauge(offset=skampi)"};
    double ratios[3];
    for (int i = 0; i < 3; ++i) {
        double lasted_ns[2];
        for (int large = 0; large <= 1; ++large) {
            struct virtual_sync sync = virtual_sync_create(&model, large ? 128 : 8, 8, schemes[i]);
            sync.stagger_ns = 0.0;
            virtual_sync_run(&sync);
            lasted_ns[large] = virtual_now(sync.world) - sync.begun_ns;
            virtual_sync_free(&sync);
        }
        ratios[i] = lasted_ns[1] / lasted_ns[0];
    }
    CHECK_THAT(fabs(ratios[0] - 127.0 / 7.0), <, 0.5);
    CHECK_THAT(fabs(ratios[1] - 7.0 / 3.0), <, 0.1);
    CHECK_THAT(fabs(ratios[2] - 7.0 / 3.0), <, 0.1);
}

/* Exchanges of a pair: what process 1 sends but for the message that ends it. */
static long exchanges_of(const struct virtual_sync *sync) { return virtual_messages_between(sync->world, 1, 0) - 1; }

/* Once a pair knows its round trip, skampi takes as many exchanges as it must and no more. */
static void skampi_stops_early(void) {
    const struct virtual_model quiet = clocks_on(&virtual_quiet);
    struct virtual_sync sync = virtual_sync_create(&quiet, 2, 2, "hca3_offset(offset=skampi(min=10,max=100))");
    for (int i = 0; i < 5; ++i) {
        virtual_sync_run(&sync);
        CHECK_THAT(exchanges_of(&sync), ==, 10);
    }
    virtual_sync_free(&sync);

    /* Every pair of a tree, and of a line, from what it knows itself. */
    static const char *const schemes[] = {"hca3_offset", "skampi", "netgauge(offset=skampi(min=10,max=100))"};
    for (int k = 0; k < 3; ++k) {
        sync = virtual_sync_create(&quiet, 8, 8, schemes[k]);
        virtual_sync_run(&sync);
        virtual_sync_run(&sync);
        CHECK_THAT(virtual_messages(sync.world), <=, 7 * (messages_of_pair(10) + 2));
        virtual_sync_free(&sync);
    }

    /* Noise: more than two at times, and hardly ever many. */
    const struct virtual_model heavy = clocks_on(&virtual_heavy);
    long exchanges = 0;
    sync = virtual_sync_create(&heavy, 2, 2, "hca3_offset(offset=skampi(min=2,max=100))");
    for (int i = 0; i < 200; ++i) {
        virtual_sync_run(&sync);
        CHECK_THAT(exchanges_of(&sync), >=, 2);
        CHECK_THAT(exchanges_of(&sync), <=, 100);
        exchanges += exchanges_of(&sync);
    }
    CHECK_THAT(exchanges, >, 200 * 2.2);
    CHECK_THAT(exchanges, <, 200 * 10);
    virtual_sync_free(&sync);
}

static double twice_as_slow(int source, int destination, double true_ns) {
    (void)source;
    (void)destination;
    (void)true_ns;
    return 1500.0;
}

/* A network that has become slower for good: skampi works in vain, until it has forgotten what once was possible. */
static void skampi_forgets(void) {
    const struct virtual_model quiet = clocks_on(&virtual_quiet);
    struct virtual_model slow = quiet;
    slow.network.path_ns = twice_as_slow;
    struct virtual_sync before = virtual_sync_create(&quiet, 2, 2, "skampi(offset=skampi(min=10,max=100))");
    struct virtual_sync after = virtual_sync_create(&slow, 2, 2, "skampi(offset=skampi(min=10,max=100))");
    virtual_sync_run(&before);
    virtual_sync_inherit(&after, &before);
    virtual_sync_run(&after);
    CHECK_THAT(exchanges_of(&after), ==, 100);
    for (int i = 0; i < 5; ++i)
        virtual_sync_run(&after);
    CHECK_THAT(exchanges_of(&after), ==, 10);
    virtual_sync_free(&after);
    virtual_sync_free(&before);
}

/* The first three round trips take 1 us longer than the rest. */
#define SLOW_UNTIL_NS 15000.0

static double slow_at_first(int source, int destination, double true_ns) {
    (void)source;
    (void)destination;
    return true_ns < SLOW_UNTIL_NS ? 500.0 : 0.0;
}

static long netgauge_exchanges(const struct virtual_model *model, int stop) {
    char text[64];
    snprintf(text, sizeof text, "netgauge(offset=netgauge(stop=%d))", stop);
    struct virtual_sync sync = virtual_sync_create(model, 2, 2, text);
    sync.stagger_ns = 0.0;
    virtual_sync_run(&sync);
    long exchanges = exchanges_of(&sync) - 1; /* one more message is the model, to its reference */
    virtual_sync_free(&sync);
    return exchanges;
}

/* With clocks that are exact on a network that gives the same round trip every time, the first exchange is the best,
 * and N more are in vain. */
static void netgauge_stops_after_n(void) {
    const struct virtual_model exact = {.seed = 1, .network = virtual_quiet, .ns_per_tick = 1.0, .read_ns = 20};
    struct virtual_model slow_begin = exact;
    slow_begin.network.path_ns = slow_at_first;
    const int stops[] = {5, 7, 100};
    for (int i = 0; i < 3; ++i) {
        CHECK_THAT(netgauge_exchanges(&exact, stops[i]), ==, stops[i] + 1);
        CHECK_THAT(netgauge_exchanges(&slow_begin, stops[i]), ==, stops[i] + 4);
    }
}

/* Two worlds with one seed are the same, with another they are not. */
static void one_seed_one_result(void) {
    static const char *const schemes[] = {"hca3_offset",
                                          "skampi",
                                          "netgauge",
                                          "cristian",
                                          "hca3(fit=3,over=0.01)",
                                          "hca2(fit=3,over=0.01,offset=skampi)",
                                          "hca(fit=3,over=0.01,offset=skampi)",
                                          "jk(fit=3,over=0.01,offset=skampi)",
                                          "hierarchical(nodes=hca2(fit=3,over=0.01,offset=skampi),within=skampi)"};
    enum { SIZE = 11 };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i) {
        struct virtual_sync sync[3];
        for (int k = 0; k < 3; ++k) {
            struct virtual_model model = clocks_on(&virtual_heavy);
            model.seed = k < 2 ? 3 : 4;
            sync[k] = virtual_sync_create(&model, SIZE, 4, schemes[i]);
            virtual_sync_run(&sync[k]);
        }
        CHECK(memcmp(sync[0].maps, sync[1].maps, SIZE * sizeof *sync[0].maps) == 0);
        CHECK(memcmp(sync[0].maps, sync[2].maps, SIZE * sizeof *sync[0].maps) != 0);
        CHECK(virtual_now(sync[0].world) == virtual_now(sync[1].world));
        CHECK(virtual_depth(sync[0].world) == virtual_depth(sync[1].world));
        for (int k = 0; k < 3; ++k)
            virtual_sync_free(&sync[k]);
    }
}

int main(void) {
    costs_are_as_published();
    time_follows();
    skampi_stops_early();
    skampi_forgets();
    netgauge_stops_after_n();
    one_seed_one_result();
    return 0;
}
