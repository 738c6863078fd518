/* Path asymmetry: what becomes of it in the tree and with peers. Exchanges show nothing of it. In virtual time without
 * noise, clocks that differ by their offsets alone. Without MPI. */
#include "check.h"
#include "virtual_sync.h"

#include <math.h>
#include <string.h>

#define MANY 1024

/* A fifth of the one-way delay: how much longer paths are, upwards or each at random. */
#define LONGEST_NS 300.0
static const struct virtual_network upward = {.overhead_ns = 100.0, .fixed_ns = 1500.0, .upward_ns = LONGEST_NS};
static const struct virtual_network at_random = {.overhead_ns = 100.0, .fixed_ns = 1500.0, .asymmetry_ns = LONGEST_NS};

struct errors {
    double spread_ns; /* from the smallest to the largest */
    double rms_ns;
};

static struct errors errors_of(int size, const char *scheme, const struct virtual_network *network) {
    struct virtual_model model = {
        .seed = 1, .network = *network, .offset_ns = 1e9, .ns_per_tick = 0.4347, .read_ns = 20};
    struct virtual_sync sync = virtual_sync_create(&model, size, size, scheme);
    virtual_sync_run(&sync);
    virtual_sync_check_bounds(&sync, scheme, 0.0);
    double smallest = 0.0;
    double largest = 0.0;
    double squares = 0.0;
    for (int i = 1; i < size; ++i) {
        double error_ns = virtual_sync_error_ns(&sync, i, virtual_now(sync.world));
        smallest = fmin(smallest, error_ns);
        largest = fmax(largest, error_ns);
        squares += error_ns * error_ns;
    }
    virtual_sync_free(&sync);
    return (struct errors){.spread_ns = largest - smallest, .rms_ns = sqrt(squares / (size - 1))};
}

/* As many levels as the group is to have, or fewer, and no process serves more than that takes. */
static void trees_are_as_wide_as_needed(void) {
    for (int depth = 1; depth <= 4; ++depth)
        for (int size = 2; size < 3000; ++size) {
            const struct db_sync_group group = {.size = size, .depth = depth};
            int radix = db_tree_radix(&group, 0);
            CHECK_THAT(pow(radix, depth), >=, size);
            CHECK(radix == 2 || pow(radix - 1, depth) < size);
            CHECK_THAT(db_tree_radix(&group, 7), ==, 7);
        }
}

/* A tree in which every step led to higher ranks would add half of the difference on each of its levels. */
static void levels_take_each_others_asymmetry_back(void) {
    const struct {
        int size;
        const char *radix;
    } trees[] = {{2, "2"}, {8, "2"}, {100, "2"}, {27, "3"}, {100, "10"}, {1000, "10"}, {1000, "32"}, {128, "128"}};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; ++i) {
        char scheme[64];
        snprintf(scheme, sizeof scheme, "disciplined(radix=%s,peers=0)", trees[i].radix);
        struct errors errors = errors_of(trees[i].size, scheme, &upward);
        CHECK_THAT(errors.spread_ns, >=, LONGEST_NS / 2.0 - 5.0);
        CHECK_THAT(errors.spread_ns, <=, LONGEST_NS / 2.0 + 5.0 * 10);
    }
}

/* Each in the mean of five: 0.58 of the error in a tree of one level, where peers have errors of their own and of the
 * comparison; less is gained in two, where those of one block share that of its leader. */
static void peers_average(void) {
    struct errors alone = errors_of(128, "disciplined(radix=128,peers=0)", &at_random);
    struct errors with = errors_of(128, "disciplined(radix=128)", &at_random);
    CHECK_THAT(with.rms_ns, <=, 0.62 * alone.rms_ns);
    CHECK_THAT(with.spread_ns, <=, 0.75 * alone.spread_ns);

    alone = errors_of(MANY, "disciplined(peers=0)", &at_random);
    struct errors two = errors_of(MANY, "disciplined(peers=2)", &at_random);
    with = errors_of(MANY, "disciplined", &at_random);
    CHECK_THAT(two.rms_ns, <=, 0.8 * alone.rms_ns);
    CHECK_THAT(with.rms_ns, <=, 0.9 * two.rms_ns);
}

/* They do not bring back what the levels of the tree have taken away. */
static void peers_are_on_both_sides(void) {
    struct errors one_level = errors_of(128, "disciplined(radix=128)", &upward);
    CHECK_THAT(one_level.spread_ns, <=, LONGEST_NS / 2.0 + 5.0);
    struct errors two_levels = errors_of(MANY, "disciplined", &upward);
    CHECK_THAT(two_levels.spread_ns, <=, 0.8 * LONGEST_NS);
}

/* All paths to process 20, but for that from its reference, are 40 us longer than those back. */
static double longer_to_20(int source, int destination, double true_ns) {
    (void)true_ns;
    return source > 0 && destination == 20 ? 40e3 : 0.0;
}

/* The mean of all peers may be further off than the bound of the reference. Its own bound says so. */
static void bounds_hold_with_bad_peers(void) {
    struct virtual_network network = virtual_quiet;
    network.path_ns = longer_to_20;
    struct errors alone = errors_of(64, "disciplined(radix=64,peers=0)", &network);
    CHECK_THAT(alone.spread_ns, <=, 10.0);
    struct errors with = errors_of(64, "disciplined(radix=64)", &network);
    CHECK_THAT(with.spread_ns, >=, 2000.0);
    CHECK_THAT(with.spread_ns, <=, 6000.0); /* of 20 us: who is known less well counts less */
}

/* A round trip takes 600 us more, which move from the return path to the forward path; its length does not change. */
static double slowly_the_other_way(int source, int destination, double true_ns) {
    double there_ns = 4e-6 * true_ns;
    if (source > 0 && destination == 20)
        return there_ns;
    return source == 20 && destination > 0 ? fmax(0.0, 600e3 - there_ns) : 0.0;
}

/* Peers that all lead to another rate move that of the mean: its bound grows by that, too. */
static void bounds_hold_with_mates_of_another_rate(void) {
    struct virtual_model model = {
        .seed = 1, .network = virtual_quiet, .offset_ns = 1e9, .skew = 20e-6, .ns_per_tick = 0.4347, .read_ns = 20};
    model.network.path_ns = slowly_the_other_way;
    struct virtual_sync sync = virtual_sync_create(&model, 64, 64, "disciplined(radix=64)");
    for (int i = 0; i < 16; ++i) {
        virtual_pass_until(sync.world, 1e9 + 10e9 * i);
        virtual_sync_run(&sync);
    }
    double now_ns = virtual_now(sync.world);
    double moved_ns = fabs(virtual_sync_error_ns(&sync, 20, now_ns + 30e9) - virtual_sync_error_ns(&sync, 20, now_ns));
    CHECK_THAT(moved_ns, >=, 2000.0); /* else this shows nothing */
    virtual_sync_check_bounds(&sync, "disciplined(radix=64)", 30e9);
    virtual_sync_check_bounds(&sync, "disciplined(radix=64)", 100e9);
    virtual_sync_free(&sync);
}

/* The meetings of each process with its peers, in order. */
struct meeting {
    int peer;
    int number;
    int learns;
};

struct meetings {
    int count;
    struct meeting meeting[2 * DB_MAX_PEERS];
};

static int note(struct meetings *meetings, int peer, int number, int learns) {
    CHECK_THAT(meetings->count, <, 2 * DB_MAX_PEERS);
    meetings->meeting[meetings->count++] = (struct meeting){.peer = peer, .number = number, .learns = learns};
    return 0;
}

static int note_learned(int peer, int number, void *argument) { return note(argument, peer, number, 1); }
static int note_taught(int peer, void *argument) { return note(argument, peer, -1, 0); }

static struct meetings meetings[MANY];

static void meet(int size, int radix, int count) {
    memset(meetings, 0, sizeof meetings);
    for (int rank = 0; rank < size; ++rank) {
        struct db_sync_group group = {.rank = rank, .size = size, .depth = 1};
        CHECK(db_peers(&group, radix, count, note_learned, note_taught, &meetings[rank]) == 0);
    }
}

/* Counts the peers of higher and of lower rank that a process learns from. */
static void peers_of(int rank, int *higher, int *lower) {
    *higher = *lower = 0;
    for (int i = 0; i < meetings[rank].count; ++i) {
        const struct meeting *meeting = &meetings[rank].meeting[i];
        *higher += meeting->learns && meeting->peer > rank;
        *lower += meeting->learns && meeting->peer < rank;
    }
}

static void small_groups_have_no_peers(void) {
    meet(31, 31, DB_MAX_PEERS);
    for (int rank = 0; rank < 31; ++rank)
        CHECK_THAT(meetings[rank].count, ==, 0);
    meet(32, 32, DB_MAX_PEERS);
    CHECK_THAT(meetings[16].count, ==, 2 * DB_MAX_PEERS);
}

static void on_one_level_they_are_neighbors(void) {
    int higher;
    int lower;
    meet(100, 100, 4);
    for (int rank = 0; rank < 100; ++rank) {
        peers_of(rank, &higher, &lower);
        CHECK_THAT(higher, ==, lower);
        CHECK_THAT(higher, ==, rank == 0 || rank == 99 ? 0 : rank == 1 || rank == 98 ? 1 : 2);
    }
    CHECK_THAT(meetings[0].count, ==, 2); /* answers 1 and 2, and asks nobody */
    meet(100, 100, 2);
    peers_of(50, &higher, &lower);
    CHECK_THAT(higher, ==, 1);
    CHECK_THAT(lower, ==, 1);
}

static void on_more_levels_they_are_in_other_blocks(void) {
    int higher;
    int lower;
    meet(105, 10, 4); /* the last block is half empty */
    for (int rank = 0; rank < 105; ++rank) {
        int block = rank / 10;
        int last = rank % 10 < 5 ? 10 : 9;
        peers_of(rank, &higher, &lower);
        CHECK_THAT(higher, ==, rank == 0 ? 0 : fmin(2, last - block));
        CHECK_THAT(lower, ==, fmin(2, block));
        for (int i = 0; i < meetings[rank].count; ++i) {
            int peer = meetings[rank].meeting[i].peer;
            CHECK_THAT(peer % 10, ==, rank % 10);
            CHECK_THAT(abs(peer / 10 - block), <=, 2);
            CHECK_THAT(peer, !=, rank);
        }
    }
}

/* A peer has a number of its own, so that what is known of it is not taken for that of another. */
static void numbers_are_those_of_peers(void) {
    meet(1000, 32, DB_MAX_PEERS);
    for (int rank = 0; rank < 1000; ++rank) {
        int seen[DB_MAX_PEERS] = {0};
        for (int i = 0; i < meetings[rank].count; ++i)
            if (meetings[rank].meeting[i].learns)
                ++seen[meetings[rank].meeting[i].number];
        for (int i = 0; i < DB_MAX_PEERS; ++i)
            CHECK_THAT(seen[i], <=, 1);
    }
}

int main(void) {
    trees_are_as_wide_as_needed();
    levels_take_each_others_asymmetry_back();
    peers_average();
    peers_are_on_both_sides();
    bounds_hold_with_bad_peers();
    bounds_hold_with_mates_of_another_rate();
    small_groups_have_no_peers();
    on_one_level_they_are_neighbors();
    on_more_levels_they_are_in_other_blocks();
    numbers_are_those_of_peers();
    return 0;
}
