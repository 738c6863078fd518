/* A disciplined clock against the same model without a filter: offsets and rate as one Gaussian process, conditioned on
 * all measurements at once. */
#include "check.h"
#include "offset/discipline.h"
#include "split_mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SKEW 10e-6
#define RESOLUTION_NS 20.0
#define MOST 8

static const struct db_limits limits = {.skew = SKEW, .wander = 0.5e-6, .ramp = 1e-15};

static void near(double found, double expected) { CHECK_THAT(fabs(found - expected), <=, 1e-6 * fabs(expected)); }

static struct db_offset point_at(int64_t at, double offset_ns, double width_ns) {
    return (struct db_offset){.at = at,
                              .offset_ns = offset_ns,
                              .lower_ns = offset_ns - width_ns / 2.0,
                              .upper_ns = offset_ns + width_ns / 2.0,
                              .deviation_ns = 60.0,
                              .exchanges = 9};
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The variances of offsets, as discipline.c says above weigh(). */
static void expected_variances(const struct db_offset *points, int count, int lasting, double *variances) {
    double widths[MOST];
    for (int i = 0; i < count; ++i)
        widths[i] = points[i].upper_ns - points[i].lower_ns;
    qsort(widths, (size_t)count, sizeof *widths, ascending);
    double smallest = widths[0];
    double median = count % 2 ? widths[count / 2] : (widths[count / 2 - 1] + widths[count / 2]) / 2.0;
    double least = count > 1 ? (median - smallest) / (sqrt(count) / 0.75 - 1.0) : 0.0;
    for (int i = 0; i < count; ++i) {
        double width = points[i].upper_ns - points[i].lower_ns;
        double middle = points[i].lower_ns + width / 2.0;
        double single = fmin(width, 1.5 * points[i].deviation_ns / sqrt(points[i].exchanges));
        double excess = width - smallest + fmax(least, single / (count * count));
        double unusual = fmax(0.0, excess - 2.0 * (median - smallest + least));
        double divided = lasting ? unusual * unusual + excess * excess / 64.0 : excess * excess;
        variances[i] = divided / 12.0 + pow(points[i].offset_ns - middle, 2.0) +
                       (RESOLUTION_NS * RESOLUTION_NS + 3.0) / 12.0 + pow(points[i].drift_deviation_ns, 2.0) + 1.0;
    }
}

/* Solves matrix x = right by Gauss and Jordan; the matrix is lost. Returns the logarithm of its determinant. */
static void solve(int n, double matrix[MOST][MOST], double *right) {
    for (int k = 0; k < n; ++k) {
        for (int row = 0; row < n; ++row) {
            if (row == k)
                continue;
            double factor = matrix[row][k] / matrix[k][k];
            for (int column = k; column < n; ++column)
                matrix[row][column] -= factor * matrix[k][column];
            right[row] -= factor * right[k];
        }
    }
    for (int k = 0; k < n; ++k)
        right[k] /= matrix[k][k];
}

/* Mean and covariance of offset and rate at the last point. */
struct posterior {
    double offset;
    double rate;
    struct db_uncertainty uncertainty;
};

/* The covariance of two integrals of one random walk, up to `a` and `b`. */
static double walked_together(double a, double b) {
    double less = fmin(a, b);
    return less * less * fmax(a, b) / 2.0 - less * less * less / 6.0;
}

static double dot(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

/* Assumptions on two oscillators and on the path between them. */
struct assumption {
    double walk;
    double path_ns;
    double correlation_ns;
    double prior;
};

/* How much of what the path adds at one time it adds at another. */
static double lasts(const struct assumption *assumed, double one, double other) {
    if (one == other)
        return 1.0;
    return assumed->correlation_ns > 0.0 ? exp(-fabs(one - other) / assumed->correlation_ns) : 0.0;
}

static struct posterior condition(const struct db_offset *points, int count, const struct assumption *assumed) {
    double variances[MOST];
    const double walk = assumed->walk * assumed->walk * 1e-9;
    const double path = assumed->path_ns * assumed->path_ns;
    expected_variances(points, count, assumed->correlation_ns > 0.0, variances);
    const double rate = SKEW * SKEW / 3.0; /* any within the limits */
    int n = count - 1;
    double end = (double)(points[n].at - points[0].at);
    double seen[MOST] = {0};     /* against the first offset */
    double with_end[MOST] = {0}; /* covariances of the offsets with the last one, and with its rate */
    double with_rate[MOST] = {0};
    double matrix[MOST][MOST] = {{0}};
    for (int i = 0; i < n; ++i) {
        double then = (double)(points[i + 1].at - points[0].at);
        seen[i] = points[i + 1].offset_ns - points[0].offset_ns;
        double gone = path * (1.0 - lasts(assumed, then, 0.0));
        with_end[i] = variances[0] + gone + rate * then * end + walk * walked_together(then, end);
        with_rate[i] = rate * then + walk * then * then / 2.0;
        for (int k = 0; k < n; ++k) {
            double other = (double)(points[k + 1].at - points[0].at);
            double moved = path * (lasts(assumed, then, other) - lasts(assumed, other, 0.0)) + gone;
            matrix[i][k] = variances[0] + moved + rate * then * other + walk * walked_together(then, other);
        }
        matrix[i][i] += variances[i + 1];
    }
    double copies[2][MOST][MOST];
    memcpy(copies[0], matrix, sizeof matrix);
    memcpy(copies[1], matrix, sizeof matrix);
    double by_seen[MOST];
    double by_end[MOST];
    double by_rate[MOST];
    memcpy(by_seen, seen, sizeof seen);
    memcpy(by_end, with_end, sizeof with_end);
    memcpy(by_rate, with_rate, sizeof with_rate);
    solve(n, matrix, by_seen);
    solve(n, copies[0], by_end);
    solve(n, copies[1], by_rate);
    return (struct posterior){.offset = points[0].offset_ns + dot(n, with_end, by_seen),
                              .rate = dot(n, with_rate, by_seen),
                              .uncertainty = {.offset = variances[0] + path + rate * end * end +
                                                        walk * walked_together(end, end) - dot(n, with_end, by_end),
                                              .cross = rate * end + walk * end * end / 2.0 - dot(n, with_end, by_rate),
                                              .rate = rate + walk * end - dot(n, with_rate, by_rate),
                                              .walk = walk}};
}

/* The hypotheses: walks alone; then, by what the path adds, how long that lasts, and the walk. */
static struct assumption assumption(int number, double shortest_ns) {
    const double walks[] = {0.3e-9, 1e-9, 3e-9, 10e-9, 30e-9, 100e-9, 500e-9};
    const double priors[] = {0.25, 0.3, 0.3, 0.12, 0.025, 0.005, 1e-5};
    const double paths[] = {0.002, 0.006, 0.02, 0.06};
    const double path_priors[] = {0.05, 0.03, 0.015, 0.005};
    const double correlation_ns[] = {0.0, 30e6, 0.3e9, 3e9, 30e9};
    if (number < DB_WALKS)
        return (struct assumption){.walk = walks[number], .prior = priors[number]};
    int path = (number - DB_WALKS) / 10;
    int lasting = (number - DB_WALKS) % 10 / 2;
    int wild = (number - DB_WALKS) % 2;
    return (struct assumption){.walk = wild ? 10e-9 : 1e-9,
                               .path_ns = paths[path] * shortest_ns,
                               .correlation_ns = correlation_ns[lasting],
                               .prior = path_priors[path] * (lasting ? 0.15 : 0.4) * (wild ? 0.3 : 0.7)};
}

/* The mixture over the hypotheses. */
static struct posterior mixture(const struct db_history *history) {
    struct posterior each[DB_HYPOTHESES];
    struct posterior all = {0};
    double weights[DB_HYPOTHESES];
    double sum = 0.0;
    double shortest_ns = INFINITY;
    for (int i = 0; i < history->count; ++i)
        shortest_ns = fmin(shortest_ns, history->points[i].upper_ns - history->points[i].lower_ns);
    int count = history->among_many ? DB_WALKS : DB_HYPOTHESES;
    for (int i = 0; i < count; ++i) {
        const struct assumption assumed = assumption(i, shortest_ns);
        each[i] = condition(history->points, history->count, &assumed);
        weights[i] = assumed.prior * exp((double)history->likelihoods[i]);
        sum += weights[i];
    }
    for (int i = 0; i < count; ++i) {
        weights[i] /= sum;
        all.offset += weights[i] * each[i].offset;
        all.rate += weights[i] * each[i].rate;
    }
    for (int i = 0; i < count; ++i) {
        double offset = each[i].offset - all.offset;
        double rate = each[i].rate - all.rate;
        all.uncertainty.offset += weights[i] * (each[i].uncertainty.offset + offset * offset);
        all.uncertainty.cross += weights[i] * (each[i].uncertainty.cross + offset * rate);
        all.uncertainty.rate += weights[i] * (each[i].uncertainty.rate + rate * rate);
        all.uncertainty.walk += weights[i] * each[i].uncertainty.walk;
    }
    return all;
}

/* With each hypothesis alone, and with all of them by chance. */
static void is_as_conditioned(const struct db_offset *points, int count) {
    struct db_history history = {.count = count};
    memcpy(history.points, points, (size_t)count * sizeof *points);
    for (int certain = -2; certain < DB_HYPOTHESES; ++certain) {
        history.among_many = certain == -1 || certain == DB_WALKS - 1;
        for (int i = 0; i < DB_HYPOTHESES; ++i)
            history.likelihoods[i] = certain < 0 ? (float)(i * 7 % 5 - 3) : i == certain ? 0.0F : -700.0F;
        struct db_clock_map found = db_discipline(&history, &limits, RESOLUTION_NS, NULL);
        struct posterior expected = mixture(&history);
        CHECK_THAT(found.ticks, ==, points[count - 1].at);
        CHECK_THAT(fabs((double)(found.global_ns - points[count - 1].at) - expected.offset), <=, 0.5 + 1e-6);
        CHECK_THAT(fabs(found.ns_per_tick - 1.0 - expected.rate), <=, 1e-6 * fabs(expected.rate) + 1e-15);
        near(found.uncertainty.offset, expected.uncertainty.offset);
        near(found.uncertainty.cross, expected.uncertainty.cross);
        near(found.uncertainty.rate, expected.uncertainty.rate);
        near(found.uncertainty.walk, expected.uncertainty.walk);
    }
}

/* By how the rate changes, each of the walks has its day. */
static void filter_is_a_conditional_distribution(void) {
    for (int bend = 0; bend < 5; ++bend) {
        struct db_offset points[MOST];
        for (int i = 0; i < MOST; ++i) {
            double seconds = 0.5 * i + 0.1 * (i % 3);
            double offset_ns = 70000.0 + 2000.0 * seconds + (i % 2 ? 40.0 : -25.0) +
                               (bend ? pow(10.0, bend - 1) * 0.3 * seconds * seconds : 0.0);
            points[i] = point_at(5000 + llrint(seconds * 1e9), offset_ns, 20000.0 + 50.0 * (i * 5 % 7));
        }
        points[2].deviation_ns = 900.0; /* its exchanges scatter more than the widths say, ... */
        points[2].exchanges = 4;
        points[4].deviation_ns = 90000.0; /* ... or more than its own width */
        points[5].lower_ns -= 30.0;       /* the estimate is not in the middle */
        points[6].drift_deviation_ns = 300.0;
        is_as_conditioned(points, MOST);
        is_as_conditioned(points, 3);
        is_as_conditioned(points, 2);
    }
}

static void one_offset_says_nothing_of_the_rate(void) {
    struct db_history history = {.count = 1, .points = {point_at(1000, 500.0, 800.0)}, .among_many = 1};
    struct db_clock_map found = db_discipline(&history, &limits, RESOLUTION_NS, NULL);
    CHECK_THAT(found.global_ns, ==, 1500);
    CHECK_THAT(found.ns_per_tick, ==, 1.0);
    near(found.uncertainty.offset, 30.0 * 30.0 / 12.0 + 403.0 / 12.0 + 1.0); /* 1.5 times 60 by the root of 9 */
    near(found.uncertainty.rate, SKEW * SKEW / 3.0);
    CHECK_THAT(found.uncertainty.cross, ==, 0.0);
}

/* Adds an offset 0.1 s after another. How many are known afterwards: 2, or 1 where the limits exclude it. The clocks
 * may have drifted during the exchanges, too. */
static int known_after(double shift_ns, double *contradicted) {
    struct db_history history = {0};
    struct db_offset first = point_at(0, 0.0, 200.0);
    struct db_offset second = point_at(100000000, shift_ns, 200.0);
    first.drift_ns = 10.0;
    second.drift_ns = 20.0;
    CHECK(db_history_add(&history, &first, &limits, RESOLUTION_NS) == 0.0);
    *contradicted = db_history_add(&history, &second, &limits, RESOLUTION_NS);
    CHECK_THAT(history.points[history.count - 1].at, ==, 100000000);
    return history.count;
}

static void what_the_limits_exclude_is_forgotten(void) {
    /* Half of a ramp, and on either side three whole ns and the resolution. */
    const double most_ns = 200.0 + SKEW * 1e8 + limits.ramp * 0.5e16 + 30.0 + 2.0 * (RESOLUTION_NS + 3.0);
    for (int sign = -1; sign <= 1; sign += 2) {
        double contradicted;
        CHECK_THAT(known_after(sign * (most_ns - 0.5), &contradicted), ==, 2);
        CHECK_THAT(contradicted, ==, 0.0);
        CHECK_THAT(known_after(sign * (most_ns + 0.5), &contradicted), ==, 1);
        near(contradicted, (most_ns + 0.5) / 1e8);
    }
}

/* Adds offsets that rise by a rate, every 0.1 s from a number on. Returns how many were contradicted. */
static int add_rising(struct db_history *history, double rate, int from, int count, double *at_first) {
    int contradicted = 0;
    for (int i = from; i < from + count; ++i) {
        struct db_offset point = point_at(i * 100000000LL, *at_first + rate * 1e8 * (i - from), 200.0);
        contradicted += db_history_add(history, &point, &limits, RESOLUTION_NS) > 0.0;
    }
    *at_first += rate * 1e8 * count;
    return contradicted;
}

/* A frequency outside the limits is found once, and known from then on: the slope, and a bound that holds. */
static void more_is_assumed_of_a_pair_that_refutes_the_limits(void) {
    struct db_history history = {0};
    double at_first = 0.0;
    CHECK_THAT(add_rising(&history, 5.0 * SKEW, 0, 20, &at_first), ==, 1);
    CHECK_THAT(history.skew, >=, 5.0 * SKEW);
    struct db_clock_map found = db_discipline(&history, &limits, RESOLUTION_NS, NULL);
    near(found.ns_per_tick, 1.0 + 5.0 * SKEW);
    CHECK_THAT(fabs((double)(db_map_global_ns(&found, 3000000000) - 3000000000) - 5.0 * SKEW * 3e9), <=,
               db_map_bound_ns(&found, 3000000000));

    /* A change that the limits exclude: again once; that it may change is forgotten by and by. */
    int after = 0;
    while (add_rising(&history, 4.0 * SKEW, 20 + after, 1, &at_first) == 0)
        CHECK_THAT(++after, <, 4);
    CHECK_THAT(history.wander, >=, SKEW);
    double before = history.wander;
    CHECK_THAT(add_rising(&history, 4.0 * SKEW, 21 + after, 20, &at_first), ==, 0);
    CHECK_THAT(history.wander, <, before / 1000.0);
}

/* A clock that stands still, or a coarse one, measures twice at one time: what is expected stays a number. */
static void time_need_not_pass(void) {
    struct db_history history = {0};
    for (int i = 0; i < 3; ++i) {
        struct db_offset point = point_at(5000, 10.0, 200.0);
        CHECK(db_history_add(&history, &point, &limits, RESOLUTION_NS) == 0.0);
    }
    struct db_clock_map found = db_discipline(&history, &limits, RESOLUTION_NS, NULL);
    CHECK_THAT(db_map_deviation_ns(&found, 6000), >=, 0.0);
    CHECK_THAT(db_map_deviation_ns(&found, 6000), <, 1000.0);
    CHECK(isfinite(found.uncertainty.rate));
}

/* The last eight stay; the others, in order, reach back to where they began. */
static void what_is_left_out_is_old_and_close(void) {
    struct db_history history = {0};
    for (int i = 0; i < 20 * DB_HISTORY; ++i) {
        struct db_offset point = point_at(1 + i * 1000000, i, 200.0);
        db_history_add(&history, &point, &limits, RESOLUTION_NS);
        CHECK_THAT(history.count, ==, i < DB_HISTORY ? i + 1 : DB_HISTORY);
        for (int k = 1; k < history.count; ++k)
            CHECK_THAT(history.points[k].at, >, history.points[k - 1].at);
        for (int k = 1; k <= 8 && k <= history.count; ++k)
            CHECK_THAT(history.points[history.count - k].offset_ns, ==, i + 1 - k);
        CHECK_THAT(history.points[0].offset_ns, <=, 0.5 * i);
    }
}

static double normal(uint64_t *state) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i)
        sum += (double)(db_split_mix(state) >> 11) * 0x1p-53;
    return sum;
}

/* Half a constant difference of the two directions is in no exchange. Two clocks expect it, as a share of the round
 * trip; partners show it, so among many nothing is added. Neither a flag nor a synchronization goes by it. */
static void what_no_exchange_shows_is_expected(int among_many) {
    enum { WIDTH = 20000 };
    struct db_history history = {.among_many = among_many};
    struct db_clock_map found = {0};
    for (int i = 0; i < 30; ++i) {
        struct db_offset point = point_at(1 + llrint(0.5e9 * i), 0.0, WIDTH);
        db_history_add(&history, &point, &limits, RESOLUTION_NS);
        found = db_discipline(&history, &limits, RESOLUTION_NS, NULL);
    }
    double expected = db_map_expected_ns(&found, found.ticks);
    CHECK_THAT(db_map_deviation_ns(&found, found.ticks), <=, 20.0);
    CHECK_THAT(expected, >=, among_many ? 0.0 : 0.01 * WIDTH);
    CHECK_THAT(expected, <=, among_many ? 20.0 : 0.016 * WIDTH);
}

/* A path that moves, by `share` of the round trip and for `lasting_s`, though all exchanges take the same, or longer by
 * up to `longer` of it: the error that is expected is the one that is made. Without, next to nothing is expected. */
static void movement_of_the_path_is_measured(double share, double lasting_s, double longer) {
    enum { WIDTH = 20000, COUNT = 600, KNOWN = 60 };
    struct db_history history = {0};
    uint64_t state = 7;
    double path = 0.0;
    int one = 0;
    int two = 0;
    double sum = 0.0;
    double unseen = 0.0; /* as large as what is seen to move, and a share of the round trip */
    for (int i = 0; i < COUNT; ++i) {
        double left = lasting_s > 0.0 ? exp(-0.5 / lasting_s) : 0.0;
        path = (i == 0 ? 0.0 : left * path) + sqrt(i == 0 ? 1.0 : 1.0 - left * left) * normal(&state);
        double truth = 2000.0 * 0.5 * i;
        double offset_ns = truth + path * share * WIDTH + 2.0 * normal(&state);
        double width_ns = WIDTH * (longer > 0.0 ? 1.0 + longer * (double)(db_split_mix(&state) >> 11) * 0x1p-53 : 1.0);
        struct db_offset point = point_at(1 + llrint(0.5e9 * i), offset_ns, width_ns);
        db_history_add(&history, &point, &limits, RESOLUTION_NS);
        struct db_clock_map found = db_discipline(&history, &limits, RESOLUTION_NS, NULL);
        double error = fabs((double)(found.global_ns - found.ticks) - truth);
        double expected = db_map_deviation_ns(&found, found.ticks);
        unseen += i >= KNOWN ? sqrt(found.uncertainty.asymmetry) : 0.0;
        one += i >= KNOWN && error <= expected;
        two += i >= KNOWN && error <= 2.0 * expected;
        sum += i >= KNOWN ? expected : 0.0;
    }
    CHECK_THAT(unseen / (COUNT - KNOWN), >=, (0.01 + 0.4 * share) * WIDTH);
    CHECK_THAT(unseen / (COUNT - KNOWN), <=, (0.02 + 2.5 * share) * WIDTH);
    if (share == 0.0) {
        CHECK_THAT(sum / (COUNT - KNOWN), <=, 10.0);
        return;
    }
    CHECK_THAT(one, >=, 0.55 * (COUNT - KNOWN));
    CHECK_THAT(two, >=, 0.88 * (COUNT - KNOWN));
    CHECK_THAT(sum / (COUNT - KNOWN), <=, 2.5 * share * WIDTH);
}

int main(void) {
    filter_is_a_conditional_distribution();
    one_offset_says_nothing_of_the_rate();
    what_the_limits_exclude_is_forgotten();
    more_is_assumed_of_a_pair_that_refutes_the_limits();
    time_need_not_pass();
    what_is_left_out_is_old_and_close();
    movement_of_the_path_is_measured(0.0, 0.0, 0.0);
    movement_of_the_path_is_measured(0.005, 0.0, 0.0);
    movement_of_the_path_is_measured(0.02, 0.3, 0.0);
    movement_of_the_path_is_measured(0.01, 5.0, 0.0);
    movement_of_the_path_is_measured(0.04, 2.0, 0.0);
    movement_of_the_path_is_measured(0.02, 2.0, 0.2);
    what_no_exchange_shows_is_expected(0);
    what_no_exchange_shows_is_expected(1);
    return 0;
}
