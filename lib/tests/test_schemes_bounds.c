/* Error bounds of every synchronization scheme with every offset estimator, in virtual time: no process's global clock
 * is ever further from process 0's than its bound says, also where errors are as large as they can be, and bounds are
 * not wider than they need be. Without MPI. */
#include "check.h"
#include "virtual_sync.h"

#include <math.h>

static double slow_down_the_tree(int source, int destination, double true_ns) {
    (void)true_ns;
    return source < destination ? 3000.0 : 0.0;
}

/* Every pair has an asymmetry of its own. */
static double slow_by_pair(int source, int destination, double true_ns) {
    (void)true_ns;
    return (source * 37 + destination * 101) % 17 * 250.0;
}

static void under_heavy_delays(void) {
    const struct virtual_model model = virtual_rough(&virtual_heavy, NULL);
    const int sizes[] = {2, 3, 4, 5, 7, 8, 16, 37, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        virtual_sync_check_all(&model, sizes[i]);
    virtual_sync_check(&model, 300, 16, "hca3_offset");
    virtual_sync_check(&model, 300, 16, "hierarchical(nodes=hca2(fit=3,over=0.02,offset=skampi),within=netgauge)");
}

static void under_asymmetry(void) {
    const struct virtual_model uniform = virtual_rough(&virtual_quiet, slow_down_the_tree);
    const struct virtual_model by_pair = virtual_rough(&virtual_heavy, slow_by_pair);
    const int sizes[] = {2, 5, 8, 13};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        virtual_sync_check_all(&uniform, sizes[i]);
        virtual_sync_check_all(&by_pair, sizes[i]);
    }
}

/* Between nodes and within, where the reference of the lower level has itself been synchronized. */
static void on_levels(void) {
    static const char *const texts[] = {
        "hierarchical(nodes=hca3_offset,within=hca3_offset)",
        "hierarchical(nodes=skampi(offset=cristian(exchanges=4)),within=netgauge(offset=best_rtt(exchanges=6)))",
        "hierarchical(nodes=hca3(fit=3,over=0.02),within=hca3(fit=3,over=0.02))",
        "hierarchical(nodes=hca2(fit=3,over=0.02,offset=netgauge(stop=3)),within=hca3_offset)",
        "hierarchical(nodes=hca3_offset,within=hca(fit=3,over=0.02,offset=skampi(min=3,max=3)))",
        "hierarchical(nodes=jk(fit=3,over=0.02,offset=skampi(min=3,max=3)),within=jk(fit=3,over=0.02,offset=cristian("
        "exchanges=4)))",
        "hierarchical(nodes=netgauge,within=hca2(fit=3,over=0.02,offset=cristian(exchanges=4)))",
        "hierarchical(nodes=cristian,within=cristian)",
    };
    const struct virtual_model heavy = virtual_rough(&virtual_heavy, NULL);
    const struct virtual_model by_pair = virtual_rough(&virtual_heavy, slow_by_pair);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        virtual_sync_check(&heavy, 8, 4, texts[i]);
        virtual_sync_check(&heavy, 13, 3, texts[i]);
        virtual_sync_check(&by_pair, 7, 2, texts[i]);
    }
}

/* Other intercepts than the scheme's default. */
static void with_any_intercept(void) {
    static const char *const texts[] = {
        "hca3(fit=3,over=0.02,offset=best_rtt(exchanges=6),intercept=skampi(min=3,max=3))",
        "hca2(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=fit)",
        "hca2(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=netgauge(stop=3))",
        "jk(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=mean_rtt(rtt=5,exchanges=3))",
        "hca(fit=3,over=0.02,offset=skampi(min=3,max=3),intercept=cristian(exchanges=4))",
        /* Back to back: a slope that is known badly must be said to be known badly. */
        "hca3(fit=20,over=0,offset=skampi(min=3,max=3))",
        "hca2(fit=20,over=0,offset=cristian(exchanges=4))",
        "jk(fit=20,over=0,offset=mean_rtt(rtt=5,exchanges=3))",
    };
    const struct virtual_model model = virtual_rough(&virtual_heavy, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        virtual_sync_check(&model, 2, 2, texts[i]);
        virtual_sync_check(&model, 13, 13, texts[i]);
    }
}

/* A bound that is always kept is worth nothing if it is too wide: half a round trip, and a little more per hop. */
static void bounds_are_narrow_where_nothing_disturbs(void) {
    struct virtual_model model = virtual_rough(&virtual_quiet, NULL);
    model.calibration = 0.0;
    struct virtual_sync sync = virtual_sync_create(&model, 8, 8, "hca3_offset(offset=skampi(min=5,max=5))");
    sync.stagger_ns = 0.0; /* else bounds grow meanwhile */
    virtual_sync_run(&sync);
    double now_ns = virtual_now(sync.world);
    /* Two ways with sending and receiving, and half a reading on either side of a whole one. */
    const double round_trip_ns = 2 * (1500.0 + 100.0 + 100.0) + 2 * 20.0;
    const int hops[] = {0, 1, 1, 2, 1, 2, 2, 3};
    for (int i = 1; i < 8; ++i) {
        CHECK_THAT(virtual_sync_bound_ns(&sync, i, now_ns), <=, hops[i] * (round_trip_ns / 2.0 + 10.0));
        CHECK_THAT(virtual_sync_bound_ns(&sync, i, now_ns + 1e9), <=, 3 * 1730.0 + 20e-6 * 1e9 + 1.0);
    }
    virtual_sync_free(&sync);
}

/* As fast and as slow as can be, in turns: the bound is used up, and still holds. */
static void with_extreme_clocks(void) {
    const struct virtual_model model = virtual_rough(&virtual_heavy, NULL);
    for (int process_0_is_fast = 0; process_0_is_fast <= 1; ++process_0_is_fast) {
        struct virtual_sync sync = virtual_sync_create(&model, 16, 4, "hca3_offset");
        for (int i = 0; i < 16; ++i) {
            struct virtual_oscillator *oscillator = virtual_oscillator(sync.world, i);
            double sign = i % 2 == process_0_is_fast ? -1.0 : 1.0;
            oscillator->skew = sign * (model.skew + model.wander);
            oscillator->wander = 0.0;
            oscillator->calibration = sign * model.calibration;
        }
        virtual_sync_run(&sync);
        virtual_sync_check_bounds(&sync, "hca3_offset", 0.0);
        CHECK_THAT(virtual_sync_check_bounds(&sync, "hca3_offset", 10e9), >, 0.95);
        virtual_sync_free(&sync);
    }
}

/* Nothing takes time but one way of two: where one side reads its clock, the other reads its own at the same instant,
 * so that the error is all that the exchanges leave possible, and rounding and resolution come on top. */
static double only_there(int source, int destination, double true_ns) {
    (void)true_ns;
    return source < destination ? 10000.0 : 0.0;
}

static double only_back(int source, int destination, double true_ns) {
    (void)true_ns;
    return source > destination ? 10000.0 : 0.0;
}

/* The one way for some milliseconds, then the other: what a line is fitted to is bent as far as can be. */
static double now_there_now_back(int source, int destination, double true_ns) {
    int phase = (int)(true_ns / 7e6) % 2;
    return (source < destination) == phase ? 10000.0 : 0.0;
}

/* At random in one direction: the smallest round trips confine the offset to a place where no mean is. */
static double there_at_random(int source, int destination, double true_ns) {
    return source < destination ? fmod(true_ns * 0.618, 10000.0) : 0.0;
}

static const struct virtual_network instant = {.fixed_ns = 1.0};

static void where_nothing_else_takes_time(void) {
    double (*const paths[])(int, int, double) = {only_there, only_back, now_there_now_back, there_at_random};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        struct virtual_model model = virtual_rough(&instant, paths[i]);
        model.read_ns = 0.0;
        CHECK_THAT(virtual_sync_check_all(&model, 2), >, 0.99);
        virtual_sync_check_all(&model, 5);
        model.ns_per_tick = 1000.0;
        CHECK_THAT(virtual_sync_check_all(&model, 2), >, 0.8);
        virtual_sync_check_all(&model, 3);
    }
}

/* Clocks at the ends of a wide range, and slopes at the wrong end: what the bound grows by must count in the same
 * nanoseconds as the bound does, or it falls short by parts in ten thousand, as is seen after some minutes. */
static void with_wrong_slopes_for_long(void) {
    static const char *const texts[] = {
        "hca3(fit=2,over=0,offset=skampi(min=1,max=1))",
        "hca2(fit=2,over=0,offset=skampi(min=1,max=1),intercept=fit)",
        "hca(fit=2,over=0,offset=skampi(min=1,max=1))",
        "jk(fit=2,over=0,offset=skampi(min=1,max=1))",
    };
    struct virtual_model model = virtual_rough(&virtual_heavy, NULL);
    double largest = 0.0;
    model.skew = 75e-6;
    model.wander = 0.0;
    model.calibration = 0.0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        for (model.seed = 1; model.seed <= 10; ++model.seed) {
            struct virtual_sync sync = virtual_sync_create(&model, 2, 2, texts[i]);
            virtual_oscillator(sync.world, 0)->skew = model.seed % 2 == 0 ? -model.skew : model.skew;
            virtual_oscillator(sync.world, 1)->skew = model.seed % 2 == 0 ? model.skew : -model.skew;
            virtual_sync_run(&sync);
            largest = fmax(largest, virtual_sync_check_bounds(&sync, texts[i], 300e9));
            virtual_sync_free(&sync);
        }
    CHECK_THAT(largest, >, 0.9999);
}

/* Frequencies that move by 3 ppm within seconds, on a network fast enough to see it: a slope holds only so long. */
static const struct virtual_network fast = {.overhead_ns = 10.0, .fixed_ns = 50.0, .exponential_ns = 20.0};

static void with_wandering_clocks(void) {
    static const char *const texts[] = {
        "hca3(fit=8,over=0.4,offset=skampi(min=5,max=5))",
        "hca2(fit=8,over=0.4,offset=best_rtt(exchanges=8),intercept=skampi(min=5,max=5))",
        "hca(fit=8,over=0.4,offset=skampi(min=5,max=5),intercept=skampi(min=5,max=5))",
        "jk(fit=8,over=0.4,offset=skampi(min=5,max=5))",
        "jk(fit=8,over=3,offset=netgauge(stop=5))",
    };
    struct virtual_model model = virtual_rough(&fast, NULL);
    double largest = 0.0;
    model.skew = 30e-6;
    model.wander = 3e-6;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        for (model.seed = 1; model.seed <= 6; ++model.seed) {
            largest = fmax(largest, virtual_sync_check(&model, 2, 2, texts[i]));
            largest = fmax(largest, virtual_sync_check(&model, 5, 5, texts[i]));
        }
    CHECK_THAT(largest, >, 0.7);
}

/* Exchanges that last so long that the clocks drift by more than a round trip meanwhile. */
static void with_long_exchanges(void) {
    static const char *const texts[] = {
        "hca3_offset(offset=skampi(min=800,max=800))",
        "skampi(offset=best_rtt(exchanges=800))",
        "cristian(offset=cristian(exchanges=800))",
        "netgauge(offset=netgauge(stop=800))",
        "hca3_offset(offset=mean_rtt(rtt=400,exchanges=400))",
        "hca3(fit=4,over=0.001,offset=skampi(min=800,max=800))",
        "hca2(fit=4,over=0.001,offset=best_rtt(exchanges=800),intercept=cristian(exchanges=100))",
        "hca3(fit=2,over=0,offset=netgauge(stop=300))",
        "jk(fit=3,over=0,offset=netgauge(stop=300))",
        "disciplined(offset=skampi(min=50,max=50))", /* 16 times, one after another */
        "disciplined(offset=best_rtt(exchanges=800))",
    };
    struct virtual_model model = virtual_rough(&fast, NULL);
    model.skew = 1e-3;
    double largest = 0.0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        for (model.seed = 1; model.seed <= 4; ++model.seed) {
            struct virtual_sync sync = virtual_sync_create(&model, 3, 3, texts[i]);
            sync.stagger_ns = 0.0;
            virtual_sync_run(&sync);
            largest = fmax(largest, virtual_sync_check_bounds(&sync, texts[i], 0.0));
            virtual_sync_check_bounds(&sync, texts[i], 1e9);
            virtual_sync_free(&sync);
        }
    CHECK_THAT(largest, >, 0.3);
}

/* Process 0's own map leads to the clock of somebody else, from long ago, within its bound and almost as wrong as that
 * admits, and that clock is as fast as can be: what the others say of their errors holds against that clock. */
#define REFERENCE_RATE (1.0 + 10e-6)

static void set_reference(struct virtual_sync *sync, double sign) {
    struct virtual_oscillator *oscillator = virtual_oscillator(sync->world, 0);
    double rate = REFERENCE_RATE + sign * 0.99e-6;
    oscillator->wander = 0.0;
    sync->maps[0] = (struct db_clock_map){.version = 5,
                                          .ticks = virtual_ticks(sync->world, 0, 0.0),
                                          .global_ns = llrint(sign * 498),
                                          .ns_per_tick = oscillator->ns_per_tick * rate / (1.0 + oscillator->skew),
                                          .bound_ns = 500.0,
                                          .growth = 1e-6};
}

/* The largest part of its bound that an error takes up. */
static double check_against_reference(const struct virtual_sync *sync, const char *scheme) {
    double now_ns = virtual_now(sync->world);
    double largest = 0.0;
    for (double later_ns = 0.0; later_ns <= 10e9; later_ns += 1e9)
        for (int i = 1; i < sync->size; ++i) {
            double then_ns = now_ns + later_ns;
            double error_ns = virtual_global_ns(sync->world, i, &sync->maps[i], then_ns) - REFERENCE_RATE * then_ns;
            double part = fabs(error_ns) / virtual_sync_bound_ns(sync, i, then_ns);
            if (!(part <= 1.0))
                fprintf(stderr, "%s, process %d, %g s later: error %.1f ns\n", scheme, i, later_ns * 1e-9, error_ns);
            CHECK_THAT(part, <=, 1.0);
            largest = fmax(largest, part);
        }
    return largest;
}

static void behind_a_reference_that_errs(void) {
    static const char *const texts[] = {
        "hca3_offset",
        "skampi",
        "netgauge",
        "hca3(fit=5,over=1)",
        "hca2(fit=5,over=1,offset=skampi)",
        "hca2(fit=5,over=1,offset=skampi,intercept=fit)",
        "hca(fit=5,over=1,offset=skampi)",
        "jk(fit=5,over=1,offset=skampi)",
        "hierarchical(nodes=hca3(fit=5,over=1),within=hca3_offset)",
        "hierarchical(nodes=hca3_offset,within=hca2(fit=5,over=1,offset=skampi))",
    };
    struct virtual_model models[] = {virtual_rough(&instant, only_there), virtual_rough(&instant, NULL)};
    models[1].wander = 0.0; /* nothing hides the error of the reference */
    for (size_t m = 0; m < 2; ++m)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
            for (int side = 0; side <= 1; ++side) {
                double sign = side == 0 ? -1.0 : 1.0;
                models[m].read_ns = 0.0;
                struct virtual_sync sync = virtual_sync_create(&models[m], 6, 3, texts[i]);
                set_reference(&sync, sign);
                virtual_pass_until(sync.world, 20e9);
                virtual_sync_run(&sync);
                double largest = check_against_reference(&sync, texts[i]);
                if (m == 1 || sign < 0.0) /* where the network's error does not make up for the reference's */
                    CHECK_THAT(largest, >, 0.98);
                virtual_sync_free(&sync);
            }
}

int main(void) {
    under_heavy_delays();
    under_asymmetry();
    on_levels();
    with_any_intercept();
    bounds_are_narrow_where_nothing_disturbs();
    with_extreme_clocks();
    where_nothing_else_takes_time();
    with_wrong_slopes_for_long();
    with_wandering_clocks();
    with_long_exchanges();
    behind_a_reference_that_errs();
    return 0;
}
