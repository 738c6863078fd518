/* Offset and rate by a Kalman filter over the kept offsets: the offset is the integral of a rate that walks at random.
 * How fast it walks differs from oscillator to oscillator and from minute to minute, so the filter runs once for each
 * of several walks, and what comes out is their mean, weighted by how well each predicted the offsets (a multiple-model
 * estimator; Bar-Shalom, Li, Kirubarajan 2001, section 11.6). No offset is ever refused: a filter that refuses what it
 * did not expect never learns of a change of drift. */
#include "offset/discipline.h"

#include <math.h>
#include <string.h>

/* Random walks of the difference between two frequencies, relative per square root of a second, and how likely each is
 * before anything is known: from two good oscillators in a quiet room to one beside a fan that has just started. */
static const struct {
    double walk;
    double prior;
} walks[] = {{0.3e-9, 0.25}, {1e-9, 0.3}, {3e-9, 0.3}, {10e-9, 0.12}, {30e-9, 0.025}, {100e-9, 0.005}, {500e-9, 1e-5}};
#define WALKS (sizeof walks / sizeof *walks)

/* The largest max_skew: a larger difference means that a clock was set. */
#define MOST_SKEW 0.1

struct db_limits db_history_limits(const struct db_history *history, const struct db_limits *limits) {
    return (struct db_limits){.skew = fmax(limits->skew, history->skew),
                              .wander = fmax(limits->wander, history->wander),
                              .ramp = limits->ramp};
}

/* Assumes twice what was measured. Returns the difference in frequency. */
static double raise_limits(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits) {
    const struct db_offset *first = &history->points[0];
    const struct db_offset *last = &history->points[history->count - 1];
    double seen = (offset->offset_ns - last->offset_ns) / fmax(1.0, (double)(offset->at - last->at));
    double before =
        history->count > 1 ? (last->offset_ns - first->offset_ns) / fmax(1.0, (double)(last->at - first->at)) : 0.0;
    if (fabs(seen) > limits->skew)
        history->skew = fmin(2.0 * fabs(seen), MOST_SKEW);
    else
        history->wander = 2.0 * fabs(seen - before);
    return fmax(fabs(seen), 1e-9);
}

static double width(const struct db_offset *point) { return fmax(0.0, point->upper_ns - point->lower_ns); }

/* Variances of the offsets. Both one-way delays of an exchange are at least the latency of the network; any excess
 * widens the interval, and moves its middle by up to half of it. If the excess is divided between the two at random,
 * the variance of the middle is a twelfth of its square. The latency itself is not known, but is a little less than the
 * smallest width of all: by how much follows from how much wider the others are. */
static void weigh(const struct db_history *history, double resolution_ns, double variances[DB_HISTORY]) {
    int count = history->count;
    double sorted[DB_HISTORY] = {0.0};
    for (int i = 0; i < count; ++i) {
        int place = i;
        for (; place > 0 && sorted[place - 1] > width(&history->points[i]); --place)
            sorted[place] = sorted[place - 1];
        sorted[place] = width(&history->points[i]);
    }
    double smallest = sorted[0];
    double above = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0 - smallest;
    /* The smallest of n sums of two exponential times is 0.63 / sqrt(n) of their mean, which is 1.19 times their
     * median; a heavy tail would move the mean. */
    double share = 0.75 / sqrt(count);
    double rest = count > 1 ? above * share / (1.0 - share) : 0.0;
    for (int i = 0; i < count; ++i) {
        const struct db_offset *point = &history->points[i];
        /* While little is known of the pair: what single exchanges scatter by, and what is left of that by many. */
        double single = fmin(width(point), 1.5 * point->deviation_ns / sqrt(point->exchanges));
        double unknown = fmax(rest, single / (count * count));
        double excess = width(point) - smallest + unknown;
        double apart = point->offset_ns - (point->lower_ns + point->upper_ns) / 2.0; /* estimators other than skampi */
        variances[i] = excess * excess / 12.0 + apart * apart + point->drift_deviation_ns * point->drift_deviation_ns +
                       (resolution_ns * resolution_ns + DB_ROUNDING_NS) / 12.0 + 1.0;
    }
}

/* Offset and rate at a point, and their covariance. */
struct filter {
    double offset;
    double rate;
    struct db_uncertainty uncertainty;
    struct db_uncertainty noise; /* the part of it that comes from the errors of the offsets */
    double log_likelihood;
};

/* One more offset, `after` ns later. */
static void update(struct filter *filter, double after, double offset, double variance) {
    filter->uncertainty = db_uncertainty_after(&filter->uncertainty, after);
    struct db_uncertainty *p = &filter->uncertainty;
    double innovation = offset - (filter->offset + filter->rate * after);
    double expected = p->offset + variance;
    double gain = p->offset / expected;
    double rate_gain = p->cross / expected;
    filter->offset += filter->rate * after + gain * innovation;
    filter->rate += rate_gain * innovation;
    filter->log_likelihood -= (log(expected) + innovation * innovation / expected) / 2.0;
    /* 1 - gain, which would round to 0 after days without an offset. */
    double left = variance / expected;
    p->rate -= rate_gain * p->cross;
    p->cross *= left;
    p->offset *= left;
    struct db_uncertainty n = db_uncertainty_after(&filter->noise, after);
    filter->noise.offset = left * left * n.offset + gain * gain * variance;
    filter->noise.cross = left * (n.cross - rate_gain * n.offset) + gain * rate_gain * variance;
    filter->noise.rate = n.rate - 2.0 * rate_gain * n.cross + rate_gain * rate_gain * (n.offset + variance);
}

static struct filter run(const struct db_history *history, const double variances[DB_HISTORY], double skew,
                         double walk) {
    const struct db_offset *points = history->points;
    /* Before anything is known, a rate anywhere within the limits. */
    struct filter filter = {.offset = points[0].offset_ns,
                            .uncertainty = {.offset = variances[0], .rate = skew * skew / 3.0, .walk = walk},
                            .noise = {.offset = variances[0]}};
    for (int i = 1; i < history->count; ++i) {
        update(&filter, (double)(points[i].at - points[i - 1].at), points[i].offset_ns, variances[i]);
        filter.uncertainty.rate += points[i].turn * points[i].turn;
    }
    return filter;
}

/* Mean over the walks, with what they differ by as part of the uncertainty. */
static struct filter mean_over_walks(const struct filter filters[WALKS]) {
    double best = -(double)INFINITY;
    for (size_t i = 0; i < WALKS; ++i)
        best = fmax(best, filters[i].log_likelihood);
    double weights[WALKS];
    double sum = 0.0;
    struct filter mean = {0};
    for (size_t i = 0; i < WALKS; ++i) {
        weights[i] = walks[i].prior * exp(filters[i].log_likelihood - best);
        sum += weights[i];
    }
    for (size_t i = 0; i < WALKS; ++i) {
        weights[i] /= sum;
        mean.offset += weights[i] * (filters[i].offset - filters[0].offset); /* large offsets cost no digits */
        mean.rate += weights[i] * filters[i].rate;
    }
    mean.offset += filters[0].offset;
    for (size_t i = 0; i < WALKS; ++i) {
        const struct db_uncertainty *each = &filters[i].uncertainty;
        double offset = filters[i].offset - mean.offset;
        double rate = filters[i].rate - mean.rate;
        mean.uncertainty.offset += weights[i] * (each->offset + offset * offset);
        mean.uncertainty.cross += weights[i] * (each->cross + offset * rate);
        mean.uncertainty.rate += weights[i] * (each->rate + rate * rate);
        mean.uncertainty.walk += weights[i] * each->walk;
        mean.noise.offset += weights[i] * filters[i].noise.offset;
        mean.noise.cross += weights[i] * filters[i].noise.cross;
        mean.noise.rate += weights[i] * filters[i].noise.rate;
    }
    return mean;
}

static void run_all(const struct db_history *history, const double variances[DB_HISTORY], double skew,
                    struct filter filters[WALKS]) {
    for (size_t i = 0; i < WALKS; ++i)
        filters[i] = run(history, variances, skew, walks[i].walk * walks[i].walk * 1e-9);
}

/* So many standard deviations away an offset is unexpected; so many away, all that was known is given up. One of 16,384
 * processes is 4 away in each synchronization. */
#define SURPRISE 5.0
#define DISBELIEF 8.0
/* When a frequency changed is unknown: it may be off by more than the mean since the last offset. */
#define TURNED_RATE 4.0

/* By how much the last offset is off, where the filter that ends before it does not lead there; else 0. */
static double surprise(const struct filter *before, const struct db_offset *last, double after, double variance,
                       double deviations) {
    double off_ns = fabs(last->offset_ns - before->offset - before->rate * after);
    double expected = db_uncertainty_after(&before->uncertainty, after).offset + variance;
    return off_ns > deviations * sqrt(expected) ? off_ns : 0.0;
}

/* If no walk leads to the last offset, the clock was set by less than the limits exclude, and all before is forgotten.
 * If only their mean does not, the frequency may have turned at once. */
static void check_last(struct db_history *history, double skew, double resolution_ns) {
    double variances[DB_HISTORY];
    struct filter filters[WALKS];
    struct db_history before = *history;
    struct db_offset *last = &history->points[--before.count];
    if (before.count == 0)
        return;
    double after = (double)(last->at - before.points[before.count - 1].at);
    double variance;
    weigh(history, resolution_ns, variances);
    variance = variances[before.count];
    run_all(&before, variances, skew, filters);
    struct filter mean = mean_over_walks(filters);
    if (surprise(&filters[WALKS - 1], last, after, variance, DISBELIEF) > 0.0) {
        history->points[0] = *last;
        history->count = 1;
    } else {
        last->turn = TURNED_RATE * surprise(&mean, last, after, variance, SURPRISE) / fmax(1.0, after);
    }
}

double db_history_add(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits,
                      double resolution_ns) {
    const struct db_limits assumed = db_history_limits(history, limits);
    struct db_slopes possible;
    if (history->count == DB_HISTORY) {
        memmove(&history->points[0], &history->points[1], (DB_HISTORY - 1) * sizeof history->points[0]);
        --history->count;
    }
    history->points[history->count++] = *offset;
    if (!db_drift_slopes(history->points, history->count, &assumed, resolution_ns, &possible)) {
        --history->count;
        double contradicted = raise_limits(history, offset, &assumed);
        history->points[0] = *offset;
        history->count = 1;
        return contradicted;
    }
    history->wander /= 2.0;
    check_last(history, assumed.skew, resolution_ns);
    return 0.0;
}

struct db_clock_map db_discipline(const struct db_history *history, const struct db_limits *limits,
                                  double resolution_ns, struct db_uncertainty *noise) {
    const struct db_limits assumed = db_history_limits(history, limits);
    int last = history->count > 1 ? history->count - 1 : 0;
    double variances[DB_HISTORY];
    struct filter filters[WALKS];
    weigh(history, resolution_ns, variances);
    run_all(history, variances, assumed.skew, filters);
    struct filter mean = mean_over_walks(filters);

    const struct db_line line = {.at = (double)history->points[last].at, .value = mean.offset, .slope = mean.rate};
    struct db_clock_map model = db_drift_model(&line, history->points, last + 1, &assumed, resolution_ns);
    model.uncertainty = mean.uncertainty;
    if (noise != NULL)
        *noise = mean.noise;
    return model;
}
