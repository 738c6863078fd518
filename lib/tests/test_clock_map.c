/* Clock maps: global times, bounds and expected errors by hand. */
#include "check.h"
#include "clock/clock_map.h"
#include "split_mix.h"

static void near(double found, double expected) { CHECK_THAT(fabs(found - expected), <=, 1e-9 * fabs(expected)); }

/* Two ticks to a nanosecond; the global clock shows 5000 ns at tick 1000. */
static const struct db_clock_map map = {
    .version = 7, .ticks = 1000, .global_ns = 5000, .ns_per_tick = 0.5, .bound_ns = 40.0, .growth = 1e-3};

/* A deadline is the first tick at which the global clock shows at least that much. */
static void ticks_and_global_times(void) {
    CHECK_THAT(db_map_elapsed_ns(&map, 1003), ==, 1.5);
    CHECK_THAT(db_map_global_ns(&map, 1003), ==, 5001);
    CHECK_THAT(db_map_global_ns(&map, 997), ==, 4998);
    CHECK_THAT(db_map_ticks(&map, 5001), ==, 1002);
    CHECK_THAT(db_map_ticks(&map, 4990), ==, 980);
    struct db_clock_map slow = map;
    slow.ns_per_tick = 3.0;
    CHECK_THAT(db_map_ticks(&slow, 5007), ==, 1003); /* 9 ns */
    CHECK_THAT(db_map_ticks(&slow, 5006), ==, 1002);
}

static void bound_grows_on_both_sides(void) {
    near(db_map_bound_ns(&map, 1000), 40.0);
    near(db_map_bound_ns(&map, 21000), 50.0); /* 10,000 ns */
    near(db_map_bound_ns(&map, -19000), 50.0);
}

/* A variance of offset + 2 cross t + rate t^2 + walk t^3 / 3. */
static void uncertainty_grows(void) {
    const struct db_uncertainty now = {.offset = 100.0, .cross = 2.0, .rate = 0.5, .walk = 0.06};
    struct db_uncertainty then = db_uncertainty_after(&now, 10.0);
    near(then.offset, 100.0 + 40.0 + 50.0 + 20.0);
    near(then.cross, 2.0 + 5.0 + 3.0);
    near(then.rate, 0.5 + 0.6);
    near(then.walk, 0.06);
    /* In two steps as in one; and nothing was known better before. */
    struct db_uncertainty half = db_uncertainty_after(&now, 4.0);
    half = db_uncertainty_after(&half, 6.0);
    near(half.offset, then.offset);
    near(half.cross, then.cross);
    near(half.rate, then.rate);
    near(db_uncertainty_after(&now, -10.0).offset, 100.0);

    struct db_uncertainty sum = db_uncertainty_sum(&now, &then);
    near(sum.offset, 310.0);
    near(sum.cross, 12.0);
    near(sum.rate, 1.6);
    near(sum.walk, 0.12);
    /* Uniform within a bound: a third of its square. */
    struct db_uncertainty within = db_uncertainty_within(30.0, 6e-3);
    near(within.offset, 300.0);
    near(within.rate, 12e-6);
    CHECK_THAT(within.cross, ==, 0.0);
    CHECK_THAT(within.walk, ==, 0.0);
}

static void expected_error_is_no_more_than_the_bound_allows(void) {
    struct db_clock_map known = map;
    known.uncertainty = (struct db_uncertainty){.offset = 100.0, .rate = 1e-6};
    near(db_map_deviation_ns(&known, 1000), 10.0);
    near(db_map_deviation_ns(&known, 21000), sqrt(200.0));
    known.uncertainty.offset = 1e6;
    near(db_map_deviation_ns(&known, 1000), 40.0 / sqrt(3.0));
    known.uncertainty.offset = -1.0; /* as rounding may leave it */
    CHECK_THAT(db_map_deviation_ns(&known, 1000), ==, 0.0);
}

/* The outer map begins where the inner one leads. */
static void maps_follow_each_other(void) {
    struct db_clock_map inner = map;
    inner.uncertainty = (struct db_uncertainty){.offset = 3.0, .cross = 1.0, .rate = 0.2, .walk = 0.1};
    const struct db_clock_map outer = {.version = 9,
                                       .ticks = 4000,
                                       .global_ns = 70000,
                                       .ns_per_tick = 1.25,
                                       .bound_ns = 10.0,
                                       .growth = 2e-3,
                                       .uncertainty = {.offset = 5.0, .rate = 1e-6}};
    struct db_clock_map both = db_map_compose(&inner, &outer);
    CHECK_THAT(both.version, ==, 7);
    CHECK_THAT(both.ticks, ==, 1000);
    CHECK_THAT(both.global_ns, ==, 71250); /* 1000 ticks later */
    near(both.ns_per_tick, 0.625);
    near(both.bound_ns, 40.0 * 1.25 + 10.0 + 2e-3 * 1250.0);
    near(both.growth, 3e-3);
    near(both.uncertainty.offset, 3.0 + 5.0 + 1e-6 * 1250.0 * 1250.0);
    near(both.uncertainty.cross, 1.0 + 1e-6 * 1250.0);
    near(both.uncertainty.rate, 0.2 + 1e-6);
    near(both.uncertainty.walk, 0.1);

    /* Frequencies that change: by the outer map's reading they have done so for 1250 ns. The first reading of either
     * map may be before the other's. */
    for (int side = -1; side <= 1; side += 2) {
        struct db_clock_map ramped = outer;
        ramped.ramp = 4e-6;
        ramped.ticks = inner.global_ns - side * 1000;
        for (inner.ramp = 1e-6; inner.ramp < 1e-5; inner.ramp *= 6.0) {
            both = db_map_compose(&inner, &ramped);
            CHECK_THAT(both.global_ns, ==, 70000 + side * 1250);
            near(both.bound_ns, 40.0 * 1.25 + 10.0 + 1250.0 * (2e-3 + 1250.0 * 4e-6 / 2.0));
            near(both.growth, 1e-3 + 2e-3 + 4e-6 * 1250.0);
            near(both.ramp, fmax(inner.ramp, 4e-6));
        }
    }
}

static double unit(uint64_t *state) { return (double)(db_split_mix(state) >> 11) * 0x1p-53; }

/* Wherever a clock is within the bound of a map, the other is within that of the inverse. */
static void maps_are_inverted(void) {
    uint64_t state = 1;
    for (int i = 0; i < 10000; ++i) {
        const struct db_clock_map drawn = {.ticks = 123456,
                                           .global_ns = -98765,
                                           .ns_per_tick = 1.0 + 2e-3 * (unit(&state) - 0.5),
                                           .bound_ns = 1e4 * unit(&state),
                                           .growth = 1e-3 * unit(&state)};
        const struct db_clock_map inverse = db_map_inverse(&drawn);
        double rate = drawn.ns_per_tick * (1.0 + (i % 2 ? 1.0 : -1.0) * drawn.growth);
        double off_ns = (i % 3 - 1) * drawn.bound_ns;
        double ticks = 1e10 * (unit(&state) - 0.5);
        double global_ns = (double)drawn.global_ns + off_ns + (ticks - (double)drawn.ticks) * rate;
        double found = (double)inverse.global_ns + (global_ns - (double)inverse.ticks) * inverse.ns_per_tick;
        CHECK_THAT(fabs(found - ticks), <=, db_map_bound_ns(&inverse, llrint(global_ns)) + 1e-3);
        CHECK_THAT(db_map_bound_ns(&inverse, llrint(global_ns)), <=,
                   1.01 * db_map_bound_ns(&drawn, llrint(ticks)) + 1.0);
    }
}

int main(void) {
    ticks_and_global_times();
    bound_grows_on_both_sides();
    uncertainty_grows();
    expected_error_is_no_more_than_the_bound_allows();
    maps_follow_each_other();
    maps_are_inverted();
    return 0;
}
