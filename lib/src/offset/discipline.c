/* A Kalman filter over the stored offsets. The state is clock offset, rate and path error; the offset is the integral
 * of a rate that is a random walk. The intensity of the walk differs between oscillators and over time, so the filter
 * runs once for each of several hypotheses, and the result is their mean, weighted by their likelihoods (multiple-model
 * estimator; Bar-Shalom, Li, Kirubarajan 2001, section 11.6). No offset is rejected as an outlier: a filter that
 * rejects unexpected offsets never learns of a change of drift.
 *
 * Path asymmetry adds half of the difference of the one-way delays to an offset. A constant asymmetry is not observable
 * between two clocks; a varying one is: the offsets scatter by more than their intervals and the oscillators explain.
 * So there are hypotheses with a varying path, too, and the expected error follows from measurements. */
#include "offset/discipline.h"

#include <math.h>
#include <string.h>

/* A hypothesis about two oscillators and their path. */
struct hypothesis {
    double walk;       /* random walk of the difference in frequency, relative per square root of a second */
    double path;       /* standard deviation of the path error, relative to the shortest round trip */
    double lasting_ns; /* correlation time of the path error (an Ornstein-Uhlenbeck process); 0: uncorrelated */
    double prior;      /* probability */
};

/* Constant path: from two good oscillators at a constant temperature to one beside a fan that has just started. */
#define CONSTANT_PATH(WALK, PRIOR)                                                                                     \
    { WALK, 0.0, 0.0, PRIOR }
/* Varying path (queues, wake-ups, changes of route): from a quiet path to one whose delay doubles. */
#define MOVING(PATH, LASTING_NS, PRIOR)                                                                                \
    {1e-9, PATH, LASTING_NS, 0.7 * (PRIOR)}, { 10e-9, PATH, LASTING_NS, 0.3 * (PRIOR) }
#define LASTING(PATH, PRIOR)                                                                                           \
    MOVING(PATH, 0.0, 0.4 * (PRIOR)), MOVING(PATH, 30e6, 0.15 * (PRIOR)), MOVING(PATH, 0.3e9, 0.15 * (PRIOR)),         \
        MOVING(PATH, 3e9, 0.15 * (PRIOR)), MOVING(PATH, 30e9, 0.15 * (PRIOR))

static const struct hypothesis hypotheses[] = {
    CONSTANT_PATH(0.3e-9, 0.25), CONSTANT_PATH(1e-9, 0.3),     CONSTANT_PATH(3e-9, 0.3),    CONSTANT_PATH(10e-9, 0.12),
    CONSTANT_PATH(30e-9, 0.025), CONSTANT_PATH(100e-9, 0.005), CONSTANT_PATH(500e-9, 1e-5), LASTING(0.002, 0.05),
    LASTING(0.006, 0.03),        LASTING(0.02, 0.015),         LASTING(0.06, 0.005)};
_Static_assert(sizeof hypotheses / sizeof *hypotheses == DB_HYPOTHESES,
               "a history has a likelihood for each hypothesis");

/* The largest valid max_skew (settings.c): a larger difference in frequency means that a clock was set. */
#define MAX_SKEW 0.1

struct db_limits db_history_limits(const struct db_history *history, const struct db_limits *limits) {
    return (struct db_limits){.skew = fmax(limits->skew, history->skew),
                              .wander = fmax(limits->wander, history->wander),
                              .ramp = limits->ramp};
}

/* Raises the pair's limits to twice the observed skew or wander. Returns the observed difference in frequency. */
static double raise_limits(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits) {
    const struct db_offset *first = &history->points[0];
    const struct db_offset *last = &history->points[history->count - 1];
    double slope = (offset->offset_ns - last->offset_ns) / fmax(1.0, (double)(offset->at - last->at));
    double before =
        history->count > 1 ? (last->offset_ns - first->offset_ns) / fmax(1.0, (double)(last->at - first->at)) : 0.0;
    if (fabs(slope) > limits->skew)
        history->skew = fmin(2.0 * fabs(slope), MAX_SKEW);
    else
        history->wander = 2.0 * fabs(slope - before);
    return fmax(fabs(slope), 1e-9);
}

static double width(const struct db_offset *point) { return fmax(0.0, point->upper_ns - point->lower_ns); }

/* Measurement variance of an offset, ns^2, by the behavior of excess delay: independent in each comparison, or mostly
 * lasting. */
struct variance {
    double independent;
    double lasting;
};

/* Delay beyond this multiple of the median excess is not lasting; and this share of the variance of a usual excess is
 * independent anyway. Measurement: between hosts of one kernel (make bench-hosts), exchanges scatter by a tenth of the
 * lasting part, 1/100 in variance. Depends on the network. Half and twice: same. */
#define USUAL_EXCESS 2.0
#define LASTING_SCATTER (1.0 / 64.0)

/* Measurement variances of the offsets. Both one-way delays are at least the network's latency; excess delay widens the
 * interval and moves its midpoint by up to half of the excess. If the excess is divided between the two directions at
 * random, the variance of the midpoint is 1/12 of its square. The minimal width is unknown but a little less than the
 * smallest width; the difference is estimated from the spread of the widths. */
static void measurement_variances(const struct db_history *history, double resolution_ns,
                                  struct variance variances[DB_HISTORY]) {
    int count = history->count;
    double sorted[DB_HISTORY] = {0.0};
    for (int i = 0; i < count; ++i) {
        int index = i;
        for (; index > 0 && sorted[index - 1] > width(&history->points[i]); --index)
            sorted[index] = sorted[index - 1];
        sorted[index] = width(&history->points[i]);
    }
    double smallest = sorted[0];
    double above = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0 - smallest;
    /* The smallest of n sums of two exponential delays is on average 0.63 / sqrt(n) of their mean, which is 1.19 times
     * their median. The median is used because a heavy tail moves the mean. */
    double share = 0.75 / sqrt(count);
    double unreached = count > 1 ? above * share / (1.0 - share) : 0.0;
    double usual = USUAL_EXCESS * (above + unreached);
    for (int i = 0; i < count; ++i) {
        const struct db_offset *point = &history->points[i];
        /* With few offsets: the scatter of single exchanges, reduced by the number of offsets. */
        double single = fmin(width(point), 1.5 * point->deviation_ns / sqrt(point->exchanges));
        double unknown = fmax(unreached, single / (count * count));
        double excess = width(point) - smallest + unknown;
        double displacement = point->offset_ns - (point->lower_ns + point->upper_ns) / 2.0; /* 0 for skampi */
        double fixed = displacement * displacement + point->drift_deviation_ns * point->drift_deviation_ns +
                       (resolution_ns * resolution_ns + DB_ROUNDING_NS) / 12.0 + 1.0;
        double unusual = fmax(0.0, excess - usual);
        variances[i].independent = excess * excess / 12.0 + fixed;
        variances[i].lasting = (unusual * unusual + LASTING_SCATTER * excess * excess) / 12.0 + fixed;
    }
}

/* State of the Kalman filter at an instant: clock offset, rate and path error, and their covariances. A measured offset
 * is clock offset + path error. */
struct filter {
    double offset;
    double rate;
    double path;
    struct db_uncertainty uncertainty;
    double path_variance;
    double path_offset; /* covariances */
    double path_rate;
    struct db_uncertainty noise; /* the part of `uncertainty` that comes from measurement errors */
};

/* The predicted measurement. */
struct forecast {
    double offset;
    double variance; /* of the prediction, without measurement variance */
};

static void predict(struct filter *filter, double after, double lasting_ns, double path_variance) {
    double kept = lasting_ns > 0.0 ? exp(-after / lasting_ns) : 0.0;
    filter->offset += filter->rate * after;
    filter->uncertainty = db_uncertainty_after(&filter->uncertainty, after);
    filter->noise = db_uncertainty_after(&filter->noise, after);
    filter->path *= kept;
    filter->path_offset = kept * (filter->path_offset + after * filter->path_rate);
    filter->path_rate *= kept;
    filter->path_variance = kept * kept * filter->path_variance + (1.0 - kept * kept) * path_variance;
}

static struct forecast forecast_of(const struct filter *filter) {
    return (struct forecast){
        .offset = filter->offset + filter->path,
        .variance = fmax(0.0, filter->uncertainty.offset + 2.0 * filter->path_offset + filter->path_variance)};
}

/* Measurement update with an offset. The covariance terms are written without differences of large numbers, which would
 * cancel after days without an offset. */
static void update(struct filter *filter, double offset, double variance) {
    struct db_uncertainty *p = &filter->uncertainty;
    const struct forecast forecast = forecast_of(filter);
    double innovation = offset - forecast.offset;
    double expected = forecast.variance + variance;
    double gain = (p->offset + filter->path_offset) / expected;
    double rate_gain = (p->cross + filter->path_rate) / expected;
    double path_gain = (filter->path_offset + filter->path_variance) / expected;
    filter->offset += gain * innovation;
    filter->rate += rate_gain * innovation;
    filter->path += path_gain * innovation;
    const struct filter old = *filter;
    double other = old.path_variance + variance;
    p->offset = (old.uncertainty.offset * other - old.path_offset * old.path_offset) / expected;
    p->cross = (old.uncertainty.cross * (old.path_offset + other) -
                old.path_rate * (old.uncertainty.offset + old.path_offset)) /
               expected;
    p->rate -= rate_gain * (old.uncertainty.cross + old.path_rate);
    filter->path_offset =
        (old.path_offset * (old.path_offset + variance) - old.uncertainty.offset * old.path_variance) / expected;
    filter->path_rate = (old.path_rate * (old.uncertainty.offset + old.path_offset + variance) -
                         old.uncertainty.cross * (old.path_offset + old.path_variance)) /
                        expected;
    filter->path_variance =
        (old.path_variance * (old.uncertainty.offset + variance) - old.path_offset * old.path_offset) / expected;
    double complement = (old.path_offset + other) / expected; /* 1 - gain, without cancellation */
    const struct db_uncertainty n = old.noise;
    filter->noise.offset = complement * complement * n.offset + gain * gain * variance;
    filter->noise.cross = complement * (n.cross - rate_gain * n.offset) + gain * rate_gain * variance;
    filter->noise.rate = n.rate - 2.0 * rate_gain * n.cross + rate_gain * rate_gain * (n.offset + variance);
}

/* The input of the filters. */
struct evidence {
    const struct db_history *history;
    struct variance variances[DB_HISTORY];
    double shortest_ns; /* shortest round trip */
    double skew;
    int hypotheses; /* number of the first hypotheses to use */
};

static double path_variance(const struct evidence *evidence, const struct hypothesis *hypothesis) {
    double deviation_ns = hypothesis->path * evidence->shortest_ns;
    return deviation_ns * deviation_ns;
}

static double variance_of(const struct evidence *evidence, const struct hypothesis *hypothesis, int point) {
    const struct variance *variance = &evidence->variances[point];
    return hypothesis->lasting_ns > 0.0 ? variance->lasting : variance->independent;
}

static struct evidence evidence_of(const struct db_history *history, double skew, double resolution_ns) {
    struct evidence evidence = {.history = history,
                                .shortest_ns = INFINITY,
                                .skew = skew,
                                .hypotheses = history->among_many ? DB_WALKS : DB_HYPOTHESES};
    measurement_variances(history, resolution_ns, evidence.variances);
    for (int i = 0; i < history->count; ++i)
        evidence.shortest_ns = fmin(evidence.shortest_ns, width(&history->points[i]));
    return evidence;
}

/* The filter's state after the first `count` offsets. */
static struct filter run(const struct evidence *evidence, int count, const struct hypothesis *hypothesis) {
    const struct db_offset *points = evidence->history->points;
    double moving = path_variance(evidence, hypothesis);
    double first = variance_of(evidence, hypothesis, 0);
    /* The initial rate is uniform within the limits. */
    struct filter filter = {.offset = points[0].offset_ns,
                            .uncertainty = {.offset = first + moving,
                                            .rate = evidence->skew * evidence->skew / 3.0,
                                            .walk = hypothesis->walk * hypothesis->walk * 1e-9},
                            .path_variance = moving,
                            .path_offset = -moving,
                            .noise = {.offset = first}};
    for (int i = 1; i < count; ++i) {
        predict(&filter, (double)(points[i].at - points[i - 1].at), hypothesis->lasting_ns, moving);
        update(&filter, points[i].offset_ns, variance_of(evidence, hypothesis, i));
        filter.uncertainty.rate += points[i].turn * points[i].turn;
    }
    return filter;
}

static void run_all(const struct evidence *evidence, int count, struct filter filters[DB_HYPOTHESES]) {
    for (int i = 0; i < evidence->hypotheses; ++i)
        filters[i] = run(evidence, count, &hypotheses[i]);
}

/* Posterior probabilities of the hypotheses; their sum is 1. */
static void weigh_hypotheses(const struct evidence *evidence, double weights[DB_HYPOTHESES]) {
    double best = -(double)INFINITY;
    double sum = 0.0;
    for (int i = 0; i < evidence->hypotheses; ++i)
        best = fmax(best, (double)evidence->history->likelihoods[i]);
    for (int i = 0; i < evidence->hypotheses; ++i)
        sum += weights[i] = hypotheses[i].prior * exp((double)evidence->history->likelihoods[i] - best);
    for (int i = 0; i < evidence->hypotheses; ++i)
        weights[i] /= sum;
}

/* Mean over the hypotheses; their spread adds to the uncertainty. */
static struct filter mean_over(const struct evidence *evidence, const struct filter filters[DB_HYPOTHESES]) {
    double weights[DB_HYPOTHESES];
    struct filter mean = {0};
    weigh_hypotheses(evidence, weights);
    for (int i = 0; i < evidence->hypotheses; ++i) {
        mean.offset +=
            weights[i] * (filters[i].offset - filters[0].offset); /* relative, so that large offsets lose no digits */
        mean.rate += weights[i] * filters[i].rate;
    }
    mean.offset += filters[0].offset;
    for (int i = 0; i < evidence->hypotheses; ++i) {
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

/* Innovation gates, in standard deviations: beyond GATE_TURN the rate may have changed abruptly; beyond GATE_RESET the
 * history is discarded. Derivation: in each synchronization one of 16,384 processes is 4 standard deviations away. Half
 * and twice: same. */
#define GATE_TURN 5.0
#define GATE_RESET 8.0

/* Time constant of forgetting of the log-likelihoods, since a path or an oscillator may change. Choice; half and twice:
 * same. */
#define REMEMBERED_NS 60e9

/* The innovation's absolute value if it is beyond the gate of `deviations`, else 0. */
static double beyond_gate(const struct forecast *forecast, double offset, double variance, double deviations) {
    double off_ns = fabs(offset - forecast->offset);
    return off_ns > deviations * sqrt(forecast->variance + variance) ? off_ns : 0.0;
}

/* Updates the likelihoods with the last offset, and checks the innovation gates. If the offset is beyond the reset gate
 * even of the widest walk with the estimated path variance, a clock was set, within the limits: earlier offsets are
 * discarded. If it is beyond the turn gate of the mean, the frequency may have changed abruptly. */
static void check_last(struct db_history *history, double skew, double resolution_ns) {
    int before = history->count - 1;
    if (before == 0)
        return;
    struct db_offset *last = &history->points[before];
    double after = (double)(last->at - history->points[before - 1].at);
    const struct evidence evidence = evidence_of(history, skew, resolution_ns);
    double variance = evidence.variances[before].independent;
    struct filter filters[DB_HYPOTHESES];
    double weights[DB_HYPOTHESES];
    double log_likelihoods[DB_HYPOTHESES];
    double best = -(double)INFINITY;
    double moving = 0.0;
    run_all(&evidence, before, filters);
    struct filter mean = mean_over(&evidence, filters);
    predict(&mean, after, 0.0, 0.0);
    weigh_hypotheses(&evidence, weights);
    for (int i = 0; i < evidence.hypotheses; ++i) {
        double path = path_variance(&evidence, &hypotheses[i]);
        moving += weights[i] * path;
        predict(&filters[i], after, hypotheses[i].lasting_ns, path);
        const struct forecast forecast = forecast_of(&filters[i]);
        double expected = forecast.variance + variance_of(&evidence, &hypotheses[i], before);
        double innovation = last->offset_ns - forecast.offset;
        /* Limited by the gate: a clock that was set is no evidence about the path. */
        log_likelihoods[i] = -(log(expected) + fmin(innovation * innovation / expected, GATE_TURN * GATE_TURN)) / 2.0;
        best = fmax(best, log_likelihoods[i]);
    }
    struct forecast widest = forecast_of(&filters[DB_WALKS - 1]);
    struct forecast usual = forecast_of(&mean);
    /* The path variance that can hide a jump is limited, because the bound assumes a path error of at most half a round
     * trip. */
    double hidden = evidence.shortest_ns / (4.0 * GATE_RESET);
    widest.variance += fmin(moving, hidden * hidden);
    usual.variance += moving;
    for (int i = 0; i < evidence.hypotheses; ++i)
        history->likelihoods[i] =
            history->likelihoods[i] * (float)exp(-after / REMEMBERED_NS) - (float)(best - log_likelihoods[i]);
    if (beyond_gate(&widest, last->offset_ns, variance, GATE_RESET) > 0.0) {
        history->points[0] = *last;
        history->count = 1;
    } else {
        last->turn = beyond_gate(&usual, last->offset_ns, variance, GATE_TURN) / fmax(1.0, after);
    }
}

/* Thinning of the history: the last LAST offsets stay; of the others, the one closest to its neighbors relative to its
 * age is dropped. So the history reaches back up to FURTHEST_NS, three times the longest correlation time, and shows
 * slow path changes. Choice; half and twice: same. */
#define LAST 8
#define FURTHEST_NS 100e9

static void make_room(struct db_history *history) {
    const struct db_offset *points = history->points;
    int64_t now = points[history->count - 1].at;
    int dropped = 0;
    double closest = INFINITY;
    for (int i = 1; i < history->count - LAST; ++i) {
        double spacing = (double)(points[i + 1].at - points[i - 1].at) / fmax(1.0, (double)(now - points[i].at));
        if (spacing < closest && (double)(now - points[0].at) < FURTHEST_NS) {
            closest = spacing;
            dropped = i;
        }
    }
    --history->count;
    memmove(&history->points[dropped], &points[dropped + 1],
            (size_t)(history->count - dropped) * sizeof history->points[0]);
}

double db_history_add(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits,
                      double resolution_ns) {
    const struct db_limits assumed = db_history_limits(history, limits);
    struct db_slopes possible;
    if (history->count == DB_HISTORY)
        make_room(history);
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

/* Two clocks cannot observe a constant path asymmetry; many clocks can (consensus.h). The variance of its half has two
 * terms: this share of the shortest round trip, squared, and the estimated path variance, since a delay that is divided
 * unequally for seconds is so for longer, too. Measurement: make bench-hosts, twelve runs; 0.68 and 0.96 of the errors
 * were within 1 and 2 expected errors, so half and twice are wrong there. Depends on the network. */
#define ASYMMETRY 0.012

static double asymmetry_variance(const struct evidence *evidence) {
    double weights[DB_HYPOTHESES];
    double constant_ns = ASYMMETRY * evidence->shortest_ns;
    double moving = 0.0;
    if (evidence->history->among_many)
        return 0.0;
    weigh_hypotheses(evidence, weights);
    for (int i = 0; i < evidence->hypotheses; ++i)
        moving += weights[i] * path_variance(evidence, &hypotheses[i]);
    return constant_ns * constant_ns + moving;
}

struct db_clock_map db_discipline(const struct db_history *history, const struct db_limits *limits,
                                  double resolution_ns, struct db_uncertainty *noise) {
    const struct db_limits assumed = db_history_limits(history, limits);
    int last = history->count > 1 ? history->count - 1 : 0;
    struct filter filters[DB_HYPOTHESES];
    const struct evidence evidence = evidence_of(history, assumed.skew, resolution_ns);
    run_all(&evidence, last + 1, filters);
    struct filter mean = mean_over(&evidence, filters);

    const struct db_line line = {.at = (double)history->points[last].at, .value = mean.offset, .slope = mean.rate};
    struct db_clock_map model = db_drift_model(&line, history->points, last + 1, &assumed, resolution_ns);
    model.uncertainty = mean.uncertainty;
    model.uncertainty.asymmetry = asymmetry_variance(&evidence);
    if (noise != NULL)
        *noise = mean.noise;
    return model;
}
