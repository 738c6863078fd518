/* Path asymmetry: what becomes of it in the tree and with partners. Exchanges show nothing of it. In virtual time
 * without noise, clocks that differ by their offsets alone. Without MPI. */
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
        snprintf(scheme, sizeof scheme, "disciplined(radix=%s,partners=0)", trees[i].radix);
        struct errors errors = errors_of(trees[i].size, scheme, &upward);
        CHECK_THAT(errors.spread_ns, >=, LONGEST_NS / 2.0 - 5.0);
        CHECK_THAT(errors.spread_ns, <=, LONGEST_NS / 2.0 + 5.0 * 10);
    }
}

/* Least squares over 24 partners each: what is left of a path's error is a fifth of it, at any size. */
static void partners_average(void) {
    const int sizes[] = {32, 128, MANY};
    for (int i = 0; i < 3; ++i) {
        struct errors alone = errors_of(sizes[i], "disciplined(partners=0)", &at_random);
        struct errors few = errors_of(sizes[i], "disciplined(partners=8)", &at_random);
        struct errors many = errors_of(sizes[i], "disciplined", &at_random);
        CHECK_THAT(few.rms_ns, <=, 0.75 * alone.rms_ns);
        CHECK_THAT(many.rms_ns, <=, 32.0);
        CHECK_THAT(many.spread_ns, <=, 125.0);
    }
}

/* A gradient that no comparison shows: no more than the paths' own difference. */
static void partners_are_on_both_sides(void) {
    CHECK_THAT(errors_of(128, "disciplined", &upward).spread_ns, <=, 1.1 * LONGEST_NS);
    CHECK_THAT(errors_of(MANY, "disciplined", &upward).spread_ns, <=, 1.1 * LONGEST_NS);
}

/* How much each comparison scatters is found, and what it leaves of errors is expected. */
static void scatter_is_known(void) {
    struct virtual_model model = {
        .seed = 1, .network = at_random, .offset_ns = 1e9, .ns_per_tick = 0.4347, .read_ns = 20};
    double sigma_ns = LONGEST_NS / 2.0 / sqrt(6.0); /* half of the difference of two even ones */
    int within[2] = {0};
    int all = 0;
    for (model.seed = 1; model.seed <= 10; ++model.seed) {
        struct virtual_sync sync = virtual_sync_create(&model, 128, 128, "disciplined");
        virtual_sync_run(&sync);
        double scatters[127];
        for (int i = 1; i < 128; ++i) {
            const struct db_histories *histories = &sync.histories[(size_t)i * DB_LEVELS];
            double now_ns = virtual_now(sync.world);
            double error_ns = fabs(virtual_sync_error_ns(&sync, i, now_ns));
            double expected_ns = db_map_deviation_ns(&sync.maps[i], virtual_ticks(sync.world, i, now_ns));
            scatters[i - 1] = histories->scatter_ns;
            CHECK_THAT(histories->edge_count, ==, 24);
            within[0] += error_ns <= expected_ns;
            within[1] += error_ns <= 2.0 * expected_ns;
            ++all;
        }
        CHECK_THAT(fabs(virtual_median(scatters, 127) / sigma_ns - 1.0), <=, 0.15);
        virtual_sync_free(&sync);
    }
    CHECK_THAT(within[0], >=, 0.53 * all);
    CHECK_THAT(within[0], <=, 0.83 * all);
    CHECK_THAT(within[1], >=, 0.90 * all);
}

/* Paths to process 20 that are longer than those back: from one other process, or from all. */
static int liar = -1;
static double longer_from_liar(int source, int destination, double true_ns) {
    (void)true_ns;
    return destination == 20 && (source == liar || liar < 0) ? 5e3 : 0.0;
}

static struct db_edge worst_edge(const struct virtual_sync *sync, int process) {
    const struct db_histories *histories = &sync->histories[(size_t)process * DB_LEVELS];
    struct db_edge worst = histories->edges[0];
    for (int i = 1; i < histories->edge_count; ++i)
        if (fabs(histories->edges[i].residual_ns) > fabs(worst.residual_ns))
            worst = histories->edges[i];
    return worst;
}

/* A path that lies does not move the clock, be it in the tree or between partners, and is named. */
static void one_bad_path_is_left_out(void) {
    struct virtual_model model = {
        .seed = 1, .network = at_random, .offset_ns = 1e9, .ns_per_tick = 0.4347, .read_ns = 20};
    model.network.path_ns = longer_from_liar;
    liar = 0;
    struct virtual_sync sync = virtual_sync_create(&model, 128, 128, "disciplined(radix=128)");
    virtual_sync_run(&sync);
    CHECK_THAT(fabs(virtual_sync_error_ns(&sync, 20, virtual_now(sync.world))), <=, 200.0);
    liar = sync.histories[(size_t)20 * DB_LEVELS].edges[7].partner;
    virtual_sync_free(&sync);

    sync = virtual_sync_create(&model, 128, 128, "disciplined(radix=128)");
    virtual_sync_run(&sync);
    CHECK_THAT(fabs(virtual_sync_error_ns(&sync, 20, virtual_now(sync.world))), <=, 200.0);
    struct db_edge worst = worst_edge(&sync, 20);
    CHECK_THAT(worst.partner, ==, liar);
    CHECK_THAT(fabs(fabs(worst.residual_ns) - 2500.0), <=, 400.0);
    virtual_sync_check_bounds(&sync, "disciplined", 0.0);
    virtual_sync_free(&sync);
}

/* The mean of all partners may be further off than the bound of the reference. Its own bound says so. */
static void bounds_hold_with_bad_partners(void) {
    struct virtual_network network = virtual_quiet;
    liar = -1;
    network.path_ns = longer_from_liar;
    struct errors errors = errors_of(64, "disciplined(radix=64)", &network);
    CHECK_THAT(errors.spread_ns, >=, 2000.0);
    CHECK_THAT(errors.spread_ns, <=, 2600.0);
}

/* A round trip takes 600 us more, which move from the return path to the forward path; its length does not change. */
static double slowly_the_other_way(int source, int destination, double true_ns) {
    double there_ns = 4e-6 * true_ns;
    if (source > 0 && destination == 20)
        return there_ns;
    return source == 20 && destination > 0 ? fmax(0.0, 600e3 - there_ns) : 0.0;
}

/* Partners that all lead to another rate move that of the mean: its bound grows by that, too. */
static void bounds_hold_with_partners_of_another_rate(void) {
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

/* The meetings of each process with its partners, in order. */
struct meeting {
    int partner;
    int number;
    int asks;
};

struct meetings {
    int count;
    struct meeting meeting[DB_MAX_PARTNERS];
};

static int note(int partner, int number, int asks, void *argument) {
    struct meetings *meetings = argument;
    CHECK_THAT(meetings->count, <, DB_MAX_PARTNERS);
    meetings->meeting[meetings->count++] = (struct meeting){.partner = partner, .number = number, .asks = asks};
    return 0;
}

static struct meetings meetings[MANY];

static void meet(int size, int count) {
    memset(meetings, 0, sizeof meetings);
    for (int rank = 0; rank < size; ++rank) {
        struct db_sync_group group = {.rank = rank, .size = size};
        CHECK(db_partners(&group, count, note, &meetings[rank]) == 0);
    }
}

/* As many as asked for, all different, and the other one knows. */
static void partners_are_mutual(int size, int count) {
    int expected = count < (size - 1) / 2 * 2 ? count : (size - 1) / 2 * 2;
    meet(size, count);
    for (int rank = 0; rank < size; ++rank) {
        CHECK_THAT(meetings[rank].count, ==, expected);
        for (int i = 0; i < expected; ++i) {
            const struct meeting *mine = &meetings[rank].meeting[i];
            int known = 0;
            for (int k = 0; k < expected; ++k) {
                const struct meeting *theirs = &meetings[mine->partner].meeting[k];
                known += theirs->partner == rank && theirs->number == mine->number && theirs->asks == !mine->asks;
                CHECK(k == i || meetings[rank].meeting[k].partner != mine->partner);
            }
            CHECK_THAT(known, ==, 1);
            CHECK_THAT(mine->number, <, count / 2);
        }
    }
}

/* All meet if each meets only who waits for it: there is no deadlock. */
static void partners_come_to_an_end(int size) {
    static int done[MANY];
    memset(done, 0, sizeof done);
    for (int moved = 1, rank = 0, idle = 0; moved || idle < size; rank = (rank + 1) % size) {
        struct meetings *mine = &meetings[rank];
        moved = 0;
        if (done[rank] < mine->count) {
            int partner = mine->meeting[done[rank]].partner;
            if (done[partner] < meetings[partner].count && meetings[partner].meeting[done[partner]].partner == rank) {
                ++done[rank];
                ++done[partner];
                moved = 1;
            }
        }
        idle = moved ? 0 : idle + 1;
    }
    for (int rank = 0; rank < size; ++rank)
        CHECK_THAT(done[rank], ==, meetings[rank].count);
}

static void all_meet_their_partners(void) {
    const int sizes[] = {32, 33, 34, 47, 64, 100, 127, 128, 500, 1000, 1021, MANY};
    meet(31, 24);
    CHECK_THAT(meetings[16].count, ==, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int count = 4; count <= DB_MAX_PARTNERS; count += 4) {
            partners_are_mutual(sizes[i], count);
            partners_come_to_an_end(sizes[i]);
        }
}

int main(void) {
    trees_are_as_wide_as_needed();
    levels_take_each_others_asymmetry_back();
    partners_average();
    partners_are_on_both_sides();
    scatter_is_known();
    one_bad_path_is_left_out();
    bounds_hold_with_bad_partners();
    bounds_hold_with_partners_of_another_rate();
    all_meet_their_partners();
    return 0;
}
