/* The cost of synchronizations, in virtual time: the longest chain of messages, to which a scheme's O(p) or O(log p)
 * refers, and the number of exchanges. Without MPI. */
#include "check.h"
#include "virtual_sync.h"

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

/* Every pair of a tree, and of a line, knows its own round trip the second time, and stops early (test_offset.c). */
static void pairs_learn(void) {
    const struct virtual_model quiet = clocks_on(&virtual_quiet);
    static const char *const schemes[] = {"hca3_offset", "skampi", "netgauge(offset=skampi(min=10,max=100))"};
    for (int i = 0; i < 3; ++i) {
        struct virtual_sync sync = virtual_sync_create(&quiet, 8, 8, schemes[i]);
        virtual_sync_run(&sync);
        virtual_sync_run(&sync);
        CHECK_THAT(virtual_messages(sync.world), <=, 7 * (messages_of_pair(10) + 2));
        virtual_sync_free(&sync);
    }
}

int main(void) {
    costs_are_as_published();
    pairs_learn();
    return 0;
}
