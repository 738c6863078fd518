/* A Kalman filter over the stored offsets of a pair of clocks (discipline.h). The state is clock offset, rate and path
 * error (the error of a measured offset by the path); the clock offset is the integral of a rate that is a random walk.
 * The intensity of the walk differs between oscillators and over time, so the filter runs once for each of several
 * hypotheses, and the result is their mean, weighted by their likelihoods (multiple-model estimator; Bar-Shalom, Li,
 * Kirubarajan 2001, section 11.6). No offset is rejected as an outlier: a filter that rejects unexpected offsets never
 * learns of a change of drift.
 *
 * Path asymmetry adds half of the difference of the one-way delays to an offset. A constant asymmetry is not observable
 * between two clocks. A varying asymmetry is: the offsets scatter by more than their intervals and the oscillators
 * explain. So there are hypotheses with a varying path, too, and the expected error follows from measurements. */
#include "offset/discipline.h"

#include <math.h>
#include <string.h>

/* A hypothesis about two oscillators and their path. */
struct hypothesis {
    double walk;           /* random walk of the difference in frequency, relative per square root of a second */
    double path;           /* standard deviation of the path error, relative to the shortest round trip */
    double correlation_ns; /* correlation time of the path error (an Ornstein-Uhlenbeck process); 0: uncorrelated */
    double prior;          /* prior probability; the sum over all hypotheses is 1 */
};

/* Constant path: from two good oscillators at a constant temperature to one beside a fan that has just started. */
#define CONSTANT_PATH(WALK, PRIOR)                                                                                     \
    { WALK, 0.0, 0.0, PRIOR }
/* Varying path (queues, wake-ups, changes of route): from a quiet path to one whose delay doubles. */
#define VARYING_PATH(PATH, CORRELATION_NS, PRIOR)                                                                      \
    {1e-9, PATH, CORRELATION_NS, 0.7 * (PRIOR)}, { 10e-9, PATH, CORRELATION_NS, 0.3 * (PRIOR) }
#define VARYING_PATHS(PATH, PRIOR)                                                                                     \
    VARYING_PATH(PATH, 0.0, 0.4 * (PRIOR)), VARYING_PATH(PATH, 30e6, 0.15 * (PRIOR)),                                  \
        VARYING_PATH(PATH, 0.3e9, 0.15 * (PRIOR)), VARYING_PATH(PATH, 3e9, 0.15 * (PRIOR)),                            \
        VARYING_PATH(PATH, 30e9, 0.15 * (PRIOR))

static const struct hypothesis hypotheses[] = {
    CONSTANT_PATH(0.3e-9, 0.25), CONSTANT_PATH(1e-9, 0.3),     CONSTANT_PATH(3e-9, 0.3),    CONSTANT_PATH(10e-9, 0.12),
    CONSTANT_PATH(30e-9, 0.025), CONSTANT_PATH(100e-9, 0.005), CONSTANT_PATH(500e-9, 1e-5), VARYING_PATHS(0.002, 0.05),
    VARYING_PATHS(0.006, 0.03),  VARYING_PATHS(0.02, 0.015),   VARYING_PATHS(0.06, 0.005)};
_Static_assert(sizeof hypotheses / sizeof *hypotheses == DB_HYPOTHESES,
               "a history has a likelihood for each hypothesis");

/* Limit of raised skews, relative: the largest valid max_skew (settings.c). A larger difference in frequency means that
 * a clock was set. */
#define MAX_SKEW 0.1

struct db_limits db_history_limits(const struct db_history *history, const struct db_limits *limits) {
    return (struct db_limits){.skew = fmax(limits->skew, history->skew),
                              .wander = fmax(limits->wander, history->wander),
                              .ramp = limits->ramp};
}

/* Raises the pair's limits after a contradiction, to twice the observed skew or wander. Returns the observed difference
 * in frequency, relative, at least 1e-9. */
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

/* Width of the interval of an offset, ns: the shortest round trip, except for drift. */
static double width(const struct db_offset *point) { return fmax(0.0, point->upper_ns - point->lower_ns); }

/* Measurement variance of an offset, ns^2, under two assumptions on excess delay (the delay above the network's
 * minimum): it is independent in each comparison, or mostly correlated between comparisons. */
struct variance {
    double independent;
    double correlated;
};

/* Delay beyond this multiple of the median excess is not correlated; and this share of the variance of a usual excess
 * is independent in any case. Measured between hosts of one kernel (make bench-hosts): exchanges scatter by a tenth of
 * the correlated delay, 1/100 in variance. Depends on the network. Half or twice the values makes no difference. */
#define MAX_USUAL_EXCESS 2.0
#define CORRELATED_SCATTER (1.0 / 64.0)

/* Computes the measurement variances of the offsets. Both one-way delays are at least the network's latency; excess
 * delay widens the interval and moves its midpoint by up to half of the excess. If the excess is divided between the
 * two directions at random, the variance of the midpoint is 1/12 of its square. The width without excess is unknown. It
 * is a little less than the smallest width; the difference (`gap`) is estimated from the spread of the widths. */
static void find_variances(const struct db_history *history, double resolution_ns,
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
    double median_excess = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0 - smallest;
    /* The smallest of n sums of two exponential delays is on average 0.63 / sqrt(n) of their mean, which is 1.19 times
     * their median, so the gap is 0.75 / sqrt(n) of the median excess above the width without excess. The median is
     * used because a heavy tail moves the mean. */
    double share = 0.75 / sqrt(count);
    double gap = count > 1 ? median_excess * share / (1.0 - share) : 0.0;
    double usual_excess = MAX_USUAL_EXCESS * (median_excess + gap);
    for (int i = 0; i < count; ++i) {
        const struct db_offset *point = &history->points[i];
        /* For few offsets the gap is uncertain, so it is at least the scatter of single exchanges, divided by the
         * squared number of offsets. */
        double scatter = fmin(width(point), 1.5 * point->deviation_ns / sqrt(point->exchanges));
        double excess_of_smallest = fmax(gap, scatter / (count * count));
        double excess = width(point) - smallest + excess_of_smallest;
        double displacement = point->offset_ns - (point->lower_ns + point->upper_ns) / 2.0; /* 0 for skampi */
        /* Variance that does not depend on the excess: by the estimator, by drift, by the resolution and rounding of
         * readings; and (1 ns)^2, so that the variance is never 0. */
        double fixed = displacement * displacement + point->drift_deviation_ns * point->drift_deviation_ns +
                       (resolution_ns * resolution_ns + DB_ROUNDING_NS) / 12.0 + 1.0;
        double excess_above_usual = fmax(0.0, excess - usual_excess);
        variances[i].independent = excess * excess / 12.0 + fixed;
        variances[i].correlated =
            (excess_above_usual * excess_above_usual + CORRELATED_SCATTER * excess * excess) / 12.0 + fixed;
    }
}

/* State of the Kalman filter at an instant: clock offset, rate and path error, and their covariances. A measured offset
 * is clock offset + path error. */
struct filter {
    double offset;                     /* ns */
    double rate;                       /* relative */
    double path;                       /* path error, ns */
    struct db_uncertainty uncertainty; /* of offset and rate */
    double path_variance;              /* ns^2 */
    double path_offset;                /* covariance of path error and offset, ns^2 */
    double path_rate;                  /* covariance of path error and rate, ns */
    struct db_uncertainty noise;       /* share of `uncertainty` that comes from measurement errors */
};

/* The predicted measurement. */
struct forecast {
    double offset;   /* clock offset + path error, ns */
    double variance; /* of the prediction, without measurement variance, ns^2 */
};

/* Time update: the state `elapsed_ns` later. `correlation_ns` and `path_variance` are of the path error. */
static void predict(struct filter *filter, double elapsed_ns, double correlation_ns, double path_variance) {
    double correlation = correlation_ns > 0.0 ? exp(-elapsed_ns / correlation_ns) : 0.0;
    filter->offset += filter->rate * elapsed_ns;
    filter->uncertainty = db_uncertainty_after(&filter->uncertainty, elapsed_ns);
    filter->noise = db_uncertainty_after(&filter->noise, elapsed_ns);
    filter->path *= correlation;
    filter->path_offset = correlation * (filter->path_offset + elapsed_ns * filter->path_rate);
    filter->path_rate *= correlation;
    filter->path_variance =
        correlation * correlation * filter->path_variance + (1.0 - correlation * correlation) * path_variance;
}

/* The offset that the filter expects a measurement to have, with the variance of its error. */
static struct forecast forecast_of(const struct filter *filter) {
    return (struct forecast){
        .offset = filter->offset + filter->path,
        .variance = fmax(0.0, filter->uncertainty.offset + 2.0 * filter->path_offset + filter->path_variance)};
}

/* Measurement update with an offset and its variance. The covariance terms are written without differences of large
 * numbers, which would cancel after days without an offset. */
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
    double remaining_variance = old.path_variance + variance;
    p->offset = (old.uncertainty.offset * remaining_variance - old.path_offset * old.path_offset) / expected;
    p->cross = (old.uncertainty.cross * (old.path_offset + remaining_variance) -
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
    double complement = (old.path_offset + remaining_variance) / expected; /* 1 - gain, without cancellation */
    const struct db_uncertainty n = old.noise;
    filter->noise.offset = complement * complement * n.offset + gain * gain * variance;
    filter->noise.cross = complement * (n.cross - rate_gain * n.offset) + gain * rate_gain * variance;
    filter->noise.rate = n.rate - 2.0 * rate_gain * n.cross + rate_gain * rate_gain * (n.offset + variance);
}

/* Input of the filters of all hypotheses. */
struct evidence {
    const struct db_history *history;
    struct variance variances[DB_HISTORY]; /* measurement variances of the history's offsets */
    double shortest_ns;                    /* shortest round trip */
    double skew;                           /* limit of the initial rate, relative */
    int hypothesis_count;                  /* number of hypotheses to use, from the beginning of the table */
};

/* Variance of the path error under a hypothesis, ns^2. */
static double path_variance_of(const struct evidence *evidence, const struct hypothesis *hypothesis) {
    double deviation_ns = hypothesis->path * evidence->shortest_ns;
    return deviation_ns * deviation_ns;
}

/* Measurement variance of offset number `point` under a hypothesis, ns^2. */
static double variance_of(const struct evidence *evidence, const struct hypothesis *hypothesis, int point) {
    const struct variance *variance = &evidence->variances[point];
    return hypothesis->correlation_ns > 0.0 ? variance->correlated : variance->independent;
}

/* Collects the input of the filters from a history. */
static struct evidence evidence_of(const struct db_history *history, double skew, double resolution_ns) {
    struct evidence evidence = {.history = history,
                                .shortest_ns = INFINITY,
                                .skew = skew,
                                .hypothesis_count = history->among_many ? DB_WALKS : DB_HYPOTHESES};
    find_variances(history, resolution_ns, evidence.variances);
    for (int i = 0; i < history->count; ++i)
        evidence.shortest_ns = fmin(evidence.shortest_ns, width(&history->points[i]));
    return evidence;
}

/* Runs the filter of a hypothesis over the first `count` offsets. Returns its state at the last one of them. */
static struct filter run(const struct evidence *evidence, int count, const struct hypothesis *hypothesis) {
    const struct db_offset *points = evidence->history->points;
    double path_ns2 = path_variance_of(evidence, hypothesis);
    double first_variance = variance_of(evidence, hypothesis, 0);
    /* The initial rate is uniform within the limits. */
    struct filter filter = {.offset = points[0].offset_ns,
                            .uncertainty = {.offset = first_variance + path_ns2,
                                            .rate = evidence->skew * evidence->skew / 3.0,
                                            .walk = hypothesis->walk * hypothesis->walk * 1e-9},
                            .path_variance = path_ns2,
                            .path_offset = -path_ns2,
                            .noise = {.offset = first_variance}};
    for (int i = 1; i < count; ++i) {
        predict(&filter, (double)(points[i].at - points[i - 1].at), hypothesis->correlation_ns, path_ns2);
        update(&filter, points[i].offset_ns, variance_of(evidence, hypothesis, i));
        filter.uncertainty.rate += points[i].rate_step * points[i].rate_step;
    }
    return filter;
}

/* Runs the filters of all hypotheses over the first `count` offsets. */
static void run_all(const struct evidence *evidence, int count, struct filter filters[DB_HYPOTHESES]) {
    for (int i = 0; i < evidence->hypothesis_count; ++i)
        filters[i] = run(evidence, count, &hypotheses[i]);
}

/* Computes the posterior probabilities of the hypotheses; their sum is 1. */
static void weigh_hypotheses(const struct evidence *evidence, double weights[DB_HYPOTHESES]) {
    double best = -(double)INFINITY; /* largest log-likelihood */
    double sum = 0.0;
    for (int i = 0; i < evidence->hypothesis_count; ++i)
        best = fmax(best, (double)evidence->history->likelihoods[i]);
    for (int i = 0; i < evidence->hypothesis_count; ++i)
        sum += weights[i] = hypotheses[i].prior * exp((double)evidence->history->likelihoods[i] - best);
    for (int i = 0; i < evidence->hypothesis_count; ++i)
        weights[i] /= sum;
}

/* Averages the filters over the hypotheses by their probabilities. The spread of the hypotheses adds to the
 * uncertainty. */
static struct filter mean_over(const struct evidence *evidence, const struct filter filters[DB_HYPOTHESES]) {
    double weights[DB_HYPOTHESES];
    struct filter mean = {0};
    weigh_hypotheses(evidence, weights);
    for (int i = 0; i < evidence->hypothesis_count; ++i) {
        mean.offset +=
            weights[i] * (filters[i].offset - filters[0].offset); /* relative, so that large offsets lose no digits */
        mean.rate += weights[i] * filters[i].rate;
    }
    mean.offset += filters[0].offset;
    for (int i = 0; i < evidence->hypothesis_count; ++i) {
        const struct db_uncertainty *uncertainty = &filters[i].uncertainty;
        double offset = filters[i].offset - mean.offset;
        double rate = filters[i].rate - mean.rate;
        mean.uncertainty.offset += weights[i] * (uncertainty->offset + offset * offset);
        mean.uncertainty.cross += weights[i] * (uncertainty->cross + offset * rate);
        mean.uncertainty.rate += weights[i] * (uncertainty->rate + rate * rate);
        mean.uncertainty.walk += weights[i] * uncertainty->walk;
        mean.noise.offset += weights[i] * filters[i].noise.offset;
        mean.noise.cross += weights[i] * filters[i].noise.cross;
        mean.noise.rate += weights[i] * filters[i].noise.rate;
    }
    return mean;
}

/* Innovation gates, in standard deviations: beyond GATE_RATE_STEP the rate may have changed abruptly; beyond GATE_RESET
 * the history is discarded. Above 4, because in each synchronization one of 16,384 processes deviates by 4 standard
 * deviations by chance. Half or twice the values makes no difference. */
#define GATE_RATE_STEP 5.0
#define GATE_RESET 8.0

/* Time constant with which log-likelihoods decay, since a path or an oscillator may change. Chosen by hand; half or
 * twice the value makes no difference. */
#define LIKELIHOOD_DECAY_NS 60e9

/* Returns the absolute value of the innovation (measured minus predicted offset), ns, if it exceeds `deviations`
 * standard deviations, else 0. */
static double beyond_gate(const struct forecast *forecast, double offset, double variance, double deviations) {
    double innovation_ns = fabs(offset - forecast->offset);
    return innovation_ns > deviations * sqrt(forecast->variance + variance) ? innovation_ns : 0.0;
}

/* Updates the likelihoods with the last offset, and checks the innovation gates. If the offset is beyond the reset gate
 * even for the hypothesis with the widest walk and the estimated path variance, a clock was set by a step within the
 * limits: earlier offsets are discarded. If it is beyond the gate for rate steps of the mean over the hypotheses, the
 * frequency may have changed abruptly: last->rate_step is set. */
static void check_last(struct db_history *history, double skew, double resolution_ns) {
    int last_index = history->count - 1;
    if (last_index == 0)
        return;
    struct db_offset *last = &history->points[last_index];
    double elapsed_ns = (double)(last->at - history->points[last_index - 1].at);
    const struct evidence evidence = evidence_of(history, skew, resolution_ns);
    double variance = evidence.variances[last_index].independent;
    struct filter filters[DB_HYPOTHESES];
    double weights[DB_HYPOTHESES];
    double log_likelihoods[DB_HYPOTHESES];
    double best = -(double)INFINITY; /* largest log-likelihood of the last offset */
    double mean_path_ns2 = 0.0;      /* path variance, mean over the hypotheses, ns^2 */
    run_all(&evidence, last_index, filters);
    struct filter mean = mean_over(&evidence, filters);
    predict(&mean, elapsed_ns, 0.0, 0.0);
    weigh_hypotheses(&evidence, weights);
    for (int i = 0; i < evidence.hypothesis_count; ++i) {
        double path_ns2 = path_variance_of(&evidence, &hypotheses[i]);
        mean_path_ns2 += weights[i] * path_ns2;
        predict(&filters[i], elapsed_ns, hypotheses[i].correlation_ns, path_ns2);
        const struct forecast forecast = forecast_of(&filters[i]);
        double expected = forecast.variance + variance_of(&evidence, &hypotheses[i], last_index);
        double innovation = last->offset_ns - forecast.offset;
        /* Limited by the gate, because the jump of a clock that was set is no evidence about the path. */
        log_likelihoods[i] =
            -(log(expected) + fmin(innovation * innovation / expected, GATE_RATE_STEP * GATE_RATE_STEP)) / 2.0;
        best = fmax(best, log_likelihoods[i]);
    }
    struct forecast widest = forecast_of(&filters[DB_WALKS - 1]); /* under the hypothesis with the widest walk */
    struct forecast usual = forecast_of(&mean);
    /* The path variance that can hide a jump is limited, because the bound assumes a path error of at most half a round
     * trip. */
    double max_hidden_ns = evidence.shortest_ns / (4.0 * GATE_RESET);
    widest.variance += fmin(mean_path_ns2, max_hidden_ns * max_hidden_ns);
    usual.variance += mean_path_ns2;
    for (int i = 0; i < evidence.hypothesis_count; ++i)
        history->likelihoods[i] = history->likelihoods[i] * (float)exp(-elapsed_ns / LIKELIHOOD_DECAY_NS) -
                                  (float)(best - log_likelihoods[i]);
    if (beyond_gate(&widest, last->offset_ns, variance, GATE_RESET) > 0.0) {
        history->points[0] = *last;
        history->count = 1;
    } else {
        last->rate_step = beyond_gate(&usual, last->offset_ns, variance, GATE_RATE_STEP) / fmax(1.0, elapsed_ns);
    }
}

/* Thinning of a full history: the last RECENT_POINTS offsets stay; of the older offsets, the one that is closest to its
 * neighbors relative to its age is dropped. So the history reaches back up to MAX_HISTORY_NS, three times the longest
 * correlation time, and shows slow path changes. Chosen by hand; half or twice the values makes no difference. */
#define RECENT_POINTS 8
#define MAX_HISTORY_NS 100e9

/* Drops an offset; the oldest one if the history reaches back further than MAX_HISTORY_NS. */
static void make_room(struct db_history *history) {
    const struct db_offset *points = history->points;
    int64_t now = points[history->count - 1].at;
    int dropped = 0;
    double min_spacing = INFINITY;
    for (int i = 1; i < history->count - RECENT_POINTS; ++i) {
        double spacing = (double)(points[i + 1].at - points[i - 1].at) / fmax(1.0, (double)(now - points[i].at));
        if (spacing < min_spacing && (double)(now - points[0].at) < MAX_HISTORY_NS) {
            min_spacing = spacing;
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

/* Two clocks cannot observe a constant path asymmetry; many clocks can (consensus.h). Its effect on the offset is half
 * of the asymmetry; the variance has two terms: this share of the shortest round trip, squared, and the estimated path
 * variance, since a delay that is divided unequally for seconds is probably so for longer, too. Measured in twelve runs
 * of make bench-hosts: 0.68 and 0.96 of the errors were within 1 and 2 expected errors, so half or twice the value
 * would be wrong there. Depends on the network. */
#define ASYMMETRY 0.012

/* Variance from path asymmetry, ns^2; 0 for a comparison with one of many partners. */
static double asymmetry_variance(const struct evidence *evidence) {
    double weights[DB_HYPOTHESES];
    double constant_ns = ASYMMETRY * evidence->shortest_ns;
    double mean_path_ns2 = 0.0;
    if (evidence->history->among_many)
        return 0.0;
    weigh_hypotheses(evidence, weights);
    for (int i = 0; i < evidence->hypothesis_count; ++i)
        mean_path_ns2 += weights[i] * path_variance_of(evidence, &hypotheses[i]);
    return constant_ns * constant_ns + mean_path_ns2;
}

struct db_clock_map db_discipline(const struct db_history *history, const struct db_limits *limits,
                                  double resolution_ns, struct db_uncertainty *noise) {
    const struct db_limits assumed = db_history_limits(history, limits);
    int last = history->count > 1 ? history->count - 1 : 0; /* index of the last offset */
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
