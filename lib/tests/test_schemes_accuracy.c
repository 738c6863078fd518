/* How good every synchronization scheme and offset estimator is, in virtual time: errors directly after and ten seconds
 * later, bias, asymmetry, and what a fit is worth. Seeds are fixed, so that a number here is the same in every run;
 * limits leave some room for other ways to compute the same thing. Without MPI. */
#include "check.h"
#include "virtual_sync.h"

#include <math.h>
#include <string.h>

#define TEN_SECONDS_NS 10e9
#define MANY 400

/* Offsets up to 1 s, skews within 10 ppm, and the wander of an oscillator in an air-conditioned room. */
static const struct virtual_model fine = {.seed = 1,
                                          .offset_ns = 1e9,
                                          .skew = 10e-6,
                                          .wander = 2e-9,
                                          .calibration = 1e-6,
                                          .ns_per_tick = 0.4347,
                                          .read_ns = 20};

/* Errors of many synchronizations, ns. */
struct errors {
    double signed_median;
    double median;
    double percentile_95;
};

/* All processes but 0 of as many worlds as it takes, each with a seed of its own; `after_ns` after the end. */
static struct errors errors_of(const struct virtual_model *model, int size, int worlds, const char *scheme,
                               double after_ns) {
    double values[MANY];
    struct errors errors;
    int count = 0;
    CHECK_THAT(worlds * (size - 1), <=, MANY);
    for (int i = 0; i < worlds; ++i) {
        struct virtual_model seeded = *model;
        seeded.seed = (uint64_t)(100 + i);
        struct virtual_sync sync = virtual_sync_create(&seeded, size, size, scheme);
        virtual_sync_run(&sync);
        double then_ns = virtual_now(sync.world) + after_ns;
        for (int process = 1; process < size; ++process)
            values[count++] = virtual_sync_error_ns(&sync, process, then_ns);
        virtual_sync_free(&sync);
    }
    errors.signed_median = virtual_median(values, count);
    for (int i = 0; i < count; ++i)
        values[i] = fabs(values[i]);
    errors.median = virtual_median(values, count);
    errors.percentile_95 = values[count * 95 / 100];
    return errors;
}

static struct virtual_model fine_with(const struct virtual_network *network) {
    struct virtual_model model = fine;
    model.network = *network;
    return model;
}

/* Errors of the literature's estimators in simulations with the same numbers of exchanges and the same delays: median
 * and 95th percentile. Clocks here differ only by their offsets, so that nothing but the noise counts. */
static void estimators_are_as_good_as_known(void) {
    static const struct {
        const char *scheme;
        double median_ns;
        double percentile_95_ns;
    } known[] = {
        {"skampi(offset=skampi(min=5,max=5))", 14, 53},
        {"skampi(offset=skampi(min=20,max=20))", 7, 20},
        {"skampi(offset=best_rtt(exchanges=20))", 11, 32},
        {"skampi(offset=netgauge(stop=10))", 14, 43},       /* smallest round trip; 20 exchanges on average */
        {"skampi(offset=cristian(exchanges=20))", 25, 156}, /* mean */
        {"skampi(offset=mean_rtt(rtt=20,exchanges=20))", 55, 116},
    };
    struct virtual_model model = fine_with(&virtual_heavy);
    model.skew = model.wander = model.calibration = 0.0;
    double better_ns = 0.0;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        struct errors errors = errors_of(&model, 128, 2, known[i].scheme, 0.0);
        CHECK_THAT(errors.median, <=, 1.2 * known[i].median_ns);
        CHECK_THAT(errors.percentile_95, <=, 1.2 * known[i].percentile_95_ns);
        /* In this order, from the second on: the interval, the best quarter, the best, the mean, the mean round trip.
         */
        if (i >= 1 && i != 3)
            CHECK_THAT(errors.median, >, better_ns);
        if (i >= 1)
            better_ns = errors.median;
    }
}

/* Directly after the last pair. Trees add the errors of log2 p pairs up, and the first pair's fit was over long before,
 * above all where it goes one by one: 15 times 0.1 s with a slope that is known to some 10^-7. */
static void small_directly_after(void) {
    static const struct {
        const char *scheme;
        double of_2_ns;
        double of_16_ns;
    } limits[] = {
        {"hca3_offset", 10, 20},
        {"skampi", 10, 20},
        {"netgauge", 10, 20},
        {"cristian", 20, 30},
        {"hca3(fit=20,over=0.1)", 10, 40},
        {"hca2(fit=20,over=0.1,offset=best_rtt(exchanges=10))", 10, 40},
        {"hca(fit=20,over=0.1,offset=best_rtt(exchanges=10))", 10, 20},
        {"jk(fit=20,over=0.1,offset=best_rtt(exchanges=10))", 10, 100},
    };
    const struct virtual_model model = fine_with(&virtual_heavy);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
        struct errors of_2 = errors_of(&model, 2, 20, limits[i].scheme, 0.0);
        struct errors of_16 = errors_of(&model, 16, 2, limits[i].scheme, 0.0);
        CHECK_THAT(of_2.median, <=, limits[i].of_2_ns);
        CHECK_THAT(of_16.median, <=, limits[i].of_16_ns);
    }
}

/* Where both directions take the same, errors have no preferred sign. */
static void no_bias(void) {
    static const char *const unbiased[] = {
        "hca3_offset",
        "skampi",
        "netgauge",
        "cristian",
        "hca3(fit=20,over=0.1)",
        "hca2(fit=10,over=0.1,offset=mean_rtt(rtt=20,exchanges=5))", /* its intercept is skampi's */
        "hca(fit=10,over=0.1,offset=mean_rtt(rtt=20,exchanges=5))",
        "jk(fit=10,over=0.1,offset=skampi(min=10,max=10))",
    };
    const struct virtual_model heavy = fine_with(&virtual_heavy);
    for (size_t i = 0; i < sizeof unbiased / sizeof *unbiased; ++i) {
        struct errors errors = errors_of(&heavy, 5, 25, unbiased[i], 0.0);
        CHECK_THAT(fabs(errors.signed_median), <=, 5.0);
    }

    /* The median of the answers, corrected by half the mean round trip: as far apart as median and mean of the delays
     * are, 150 ns (1 - ln 2) and what the tail adds. That is the method of the paper, and gone without noise. */
    const char *mean_rtt = "jk(fit=10,over=0.1,offset=mean_rtt(rtt=100,exchanges=20))";
    const struct virtual_model quiet = fine_with(&virtual_quiet);
    struct errors skewed = errors_of(&heavy, 5, 10, mean_rtt, 0.0);
    struct errors errors = errors_of(&quiet, 5, 10, mean_rtt, 0.0);
    CHECK_THAT(skewed.signed_median, >, 150.0 * (1.0 - log(2.0)) - 10.0);
    CHECK_THAT(skewed.signed_median, <, 150.0 * (1.0 - log(2.0)) + 30.0);
    CHECK_THAT(fabs(errors.signed_median), <=, 2.0);
}

#define HALF_ASYMMETRY_NS 1250.0

static double slower_from_process_0(int source, int destination, double true_ns) {
    (void)true_ns;
    return source < destination ? 2.0 * HALF_ASYMMETRY_NS : 0.0;
}

/* No estimator can see that one direction takes 2a more than the other: all are wrong by a, and say so. */
static void asymmetry_biases_by_half(void) {
    static const char *const schemes[] = {
        "hca3_offset(offset=skampi)",
        "hca3_offset(offset=netgauge(stop=20))",
        "hca3_offset(offset=mean_rtt)",
        "hca3_offset(offset=cristian)",
        "hca3_offset(offset=best_rtt)",
        "skampi",
        "netgauge",
        "cristian",
        "jk(fit=10,over=0.1)",
        "hca(fit=10,over=0.1)",
        "hca2(fit=10,over=0.1)",
        "hca3(fit=10,over=0.1)",
    };
    struct virtual_model model = fine_with(&virtual_quiet);
    model.network.path_ns = slower_from_process_0;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i) {
        struct virtual_sync sync = virtual_sync_create(&model, 2, 2, schemes[i]);
        virtual_sync_run(&sync);
        double now_ns = virtual_now(sync.world);
        double error_ns = virtual_sync_error_ns(&sync, 1, now_ns);
        double bound_ns = virtual_sync_bound_ns(&sync, 1, now_ns);
        /* Process 1 asks and process 0's answer is old when it comes: process 1's clock is behind. */
        CHECK_THAT(fabs(error_ns + HALF_ASYMMETRY_NS), <=, 5.0);
        CHECK_THAT(bound_ns, >=, fabs(error_ns));
        virtual_sync_free(&sync);
    }
}

/* Ten seconds later, clocks that follow the drift are where the others are not, if the fit points were spread over
 * time; from a burst of some 10 ms, nothing much is learned. */
static void fits_pay_if_spread(void) {
    static const struct {
        const char *spread;
        const char *burst;
    } fits[] = {
        {"hca3(fit=20,over=1)", "hca3(fit=200,over=0)"},
        {"hca2(fit=10,over=1,offset=best_rtt(exchanges=10))", "hca2(fit=200,over=0,offset=best_rtt(exchanges=10))"},
        {"hca(fit=10,over=1,offset=best_rtt(exchanges=10))", "hca(fit=200,over=0,offset=best_rtt(exchanges=10))"},
        {"jk(fit=10,over=1,offset=mean_rtt(rtt=50,exchanges=10))",
         "jk(fit=200,over=0,offset=mean_rtt(rtt=50,exchanges=10))"},
    };
    const struct virtual_model model = fine_with(&virtual_heavy);
    double offset_only_ns = errors_of(&model, 2, 15, "hca3_offset", TEN_SECONDS_NS).median;
    CHECK_THAT(offset_only_ns, >, 30e3); /* the median of the difference of two skews is 5.9 ppm */
    for (size_t i = 0; i < sizeof fits / sizeof *fits; ++i) {
        double spread_ns = errors_of(&model, 2, 15, fits[i].spread, TEN_SECONDS_NS).median;
        double burst_ns = errors_of(&model, 2, 5, fits[i].burst, TEN_SECONDS_NS).median;
        CHECK_THAT(spread_ns, <=, offset_only_ns / 50.0);
        CHECK_THAT(burst_ns, >=, 10.0 * spread_ns);
    }
}

/* Clocks that differ by more than the user has said: a fit sees it all the same. */
static void fits_see_more_than_is_allowed(void) {
    struct virtual_model model = fine_with(&virtual_heavy);
    model.skew = 300e-6;
    for (int seed = 1; seed <= 5; ++seed) {
        model.seed = (uint64_t)seed;
        struct virtual_sync sync = virtual_sync_create(&model, 2, 2, "hca3(fit=10,over=1)");
        sync.limits.skew = 1e-6;
        virtual_sync_run(&sync);
        double drift = virtual_oscillator(sync.world, 1)->skew - virtual_oscillator(sync.world, 0)->skew;
        double error_ns = virtual_sync_error_ns(&sync, 1, virtual_now(sync.world) + TEN_SECONDS_NS);
        CHECK_THAT(fabs(drift) * TEN_SECONDS_NS, >, 100e3);
        CHECK_THAT(fabs(error_ns), <, 1e3);
        virtual_sync_free(&sync);
    }
}

/* Root mean squares over the clocks of some worlds, 30 s after the last of many synchronizations. */
struct drift {
    double true_ns;
    double expected_ns;
};

static struct drift drift_of(const char *scheme) {
    struct virtual_model model = fine_with(&virtual_quiet);
    struct drift squares = {0};
    model.wander = 50e-9;
    for (model.seed = 1; model.seed <= 4; ++model.seed) {
        struct virtual_sync sync = virtual_sync_create(&model, 64, 64, scheme);
        for (int i = 0; i < 24; ++i) {
            virtual_pass_until(sync.world, 1e9 * (i + 1));
            virtual_sync_run(&sync);
        }
        double then_ns = virtual_now(sync.world) + 30e9;
        for (int process = 1; process < 64; ++process) {
            int64_t ticks = virtual_ticks(sync.world, process, then_ns);
            squares.true_ns += pow(virtual_sync_error_ns(&sync, process, then_ns), 2.0);
            squares.expected_ns += pow(db_map_deviation_ns(&sync.maps[process], ticks), 2.0);
        }
        virtual_sync_free(&sync);
    }
    return (struct drift){sqrt(squares.true_ns), sqrt(squares.expected_ns)};
}

/* Where clocks wander, partners help to know where they are and not where they go: it is the own oscillator that
 * wanders, and process 0's. The expected error says so. */
static void partners_do_not_keep_clocks_from_wandering(void) {
    struct drift alone = drift_of("disciplined(radix=64,partners=0)");
    struct drift with = drift_of("disciplined(radix=64)");
    CHECK_THAT(fabs(with.true_ns / alone.true_ns - 1.0), <=, 0.05);
    CHECK_THAT(with.expected_ns, >=, with.true_ns);
    CHECK_THAT(with.expected_ns / alone.expected_ns, >=, 0.85);
    CHECK_THAT(with.expected_ns / alone.expected_ns, <=, 1.15);
}

/* A slope is known by its limits, which the same fits make as narrow, wherever the intercept comes from; and
 * its uncertainty is that of a slope anywhere between them. */
static void slopes_are_known_as_well_with_any_intercept(void) {
    static const char *const schemes[] = {"hca2(fit=10,over=1,intercept=fit)", "hca2(fit=10,over=1,intercept=skampi)",
                                          "hca3(fit=10,over=1,intercept=skampi)", "hca(fit=10,over=1)",
                                          "jk(fit=10,over=1)"};
    const struct virtual_model model = fine_with(&virtual_heavy);
    double growth = 0.0;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i) {
        struct virtual_sync sync = virtual_sync_create(&model, 2, 2, schemes[i]);
        virtual_sync_run(&sync);
        const struct db_clock_map *map = &sync.maps[1];
        growth = i == 0 ? map->growth : growth;
        CHECK_THAT(map->growth, <=, 0.5 * sync.limits.skew); /* more is known than without a fit */
        CHECK_THAT(fabs(map->growth / growth - 1.0), <=, 0.25);
        CHECK_THAT(fabs(sqrt(3.0 * map->uncertainty.rate) / map->growth - 1.0), <=, 1e-4);
        virtual_sync_free(&sync);
    }
}

int main(void) {
    estimators_are_as_good_as_known();
    small_directly_after();
    no_bias();
    asymmetry_biases_by_half();
    fits_pay_if_spread();
    fits_see_more_than_is_allowed();
    partners_do_not_keep_clocks_from_wandering();
    slopes_are_known_as_well_with_any_intercept();
    return 0;
}
