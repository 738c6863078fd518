/* Offset and rate by a Kalman filter over the kept offsets: the offset is the integral of a rate that walks at random.
 * How fast it walks differs from oscillator to oscillator and from minute to minute, so the filter runs once for each
 * of several walks, and what comes out is their mean, weighted by how well each predicted the offsets (a multiple-model
 * estimator; Bar-Shalom, Li, Kirubarajan 2001, section 11.6). No offset is ever refused: a filter that refuses what it
 * did not expect never learns of a change of drift.
 *
 * An offset is off by half of what the two directions of the path differ by. Two clocks never see its constant part;
 * they do see what moves: offsets then scatter by more than their intervals and the oscillators explain. Hypotheses
 * with such a path join those of oscillators alone, so the error to be expected is measured, not assumed. */
#include "offset/discipline.h"

#include <math.h>
#include <string.h>

/* A hypothesis. The difference between two frequencies walks at random: relative per square root of a second. The
 * difference of the two directions of the path moves: half of it has this deviation, relative to the shortest round
 * trip, and is forgotten in this time; 0: new in every comparison (an Ornstein-Uhlenbeck process). And how likely that
 * is before anything is known. */
struct hypothesis {
    double walk;
    double path;
    double lasting_ns;
    double prior;
};

/* From two good oscillators in a quiet room to one beside a fan that has just started. */
#define ALONE(WALK, PRIOR)                                                                                             \
    { WALK, 0.0, 0.0, PRIOR }
/* Queues, wake-ups, other routes: from a quiet path to one whose delay doubles. */
#define MOVING(PATH, LASTING_NS, PRIOR)                                                                                \
    {1e-9, PATH, LASTING_NS, 0.7 * (PRIOR)}, { 10e-9, PATH, LASTING_NS, 0.3 * (PRIOR) }
#define LASTING(PATH, PRIOR)                                                                                           \
    MOVING(PATH, 0.0, 0.4 * (PRIOR)), MOVING(PATH, 30e6, 0.15 * (PRIOR)), MOVING(PATH, 0.3e9, 0.15 * (PRIOR)),         \
        MOVING(PATH, 3e9, 0.15 * (PRIOR)), MOVING(PATH, 30e9, 0.15 * (PRIOR))

static const struct hypothesis hypotheses[] = {ALONE(0.3e-9, 0.25),  ALONE(1e-9, 0.3),     ALONE(3e-9, 0.3),
                                               ALONE(10e-9, 0.12),   ALONE(30e-9, 0.025),  ALONE(100e-9, 0.005),
                                               ALONE(500e-9, 1e-5),  LASTING(0.002, 0.05), LASTING(0.006, 0.03),
                                               LASTING(0.02, 0.015), LASTING(0.06, 0.005)};
_Static_assert(sizeof hypotheses / sizeof *hypotheses == DB_HYPOTHESES, "as many as a history has room for");

/* The largest max_skew (settings.c): a larger difference means that a clock was set. */
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

/* The variance of an offset, ns^2: where what its path took longer is divided anew between the two directions in each
 * comparison, and where most of that lasts. */
struct variance {
    double divided;
    double lasting;
};

/* An excess beyond this multiple of the median is no state that lasts, and this part of the variance of a usual one is
 * divided anew all the same. Measurement: between hosts of one kernel (make bench-hosts), exchanges scatter by a tenth
 * of what lasts, 1/100 in variance. Depends on the network. Half and twice: same. */
#define USUAL_EXCESS 2.0
#define LASTING_SCATTER (1.0 / 64.0)

/* Variances of the offsets. Both one-way delays of an exchange are at least the latency of the network; any excess
 * widens the interval, and moves its middle by up to half of it. If the excess is divided between the two at random,
 * the variance of the middle is a twelfth of its square. The latency itself is not known, but is a little less than the
 * smallest width of all: by how much follows from how much wider the others are. */
static void weigh(const struct db_history *history, double resolution_ns, struct variance variances[DB_HISTORY]) {
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
    double usual = USUAL_EXCESS * (above + rest);
    for (int i = 0; i < count; ++i) {
        const struct db_offset *point = &history->points[i];
        /* While the pair is new: the scatter of single exchanges, and the rest of it after many. */
        double single = fmin(width(point), 1.5 * point->deviation_ns / sqrt(point->exchanges));
        double unknown = fmax(rest, single / (count * count));
        double excess = width(point) - smallest + unknown;
        double apart = point->offset_ns - (point->lower_ns + point->upper_ns) / 2.0; /* estimators other than skampi */
        double other = apart * apart + point->drift_deviation_ns * point->drift_deviation_ns +
                       (resolution_ns * resolution_ns + DB_ROUNDING_NS) / 12.0 + 1.0;
        double unusual = fmax(0.0, excess - usual);
        variances[i].divided = excess * excess / 12.0 + other;
        variances[i].lasting = (unusual * unusual + LASTING_SCATTER * excess * excess) / 12.0 + other;
    }
}

/* Offset, rate and what the path adds to an offset, at a point, and their covariances. */
struct filter {
    double offset;
    double rate;
    double path;
    struct db_uncertainty uncertainty;
    double path_variance;
    double path_offset; /* covariances */
    double path_rate;
    struct db_uncertainty noise; /* the part of the uncertainty that comes from the errors of the offsets */
};

/* The next offset, by one hypothesis. */
struct forecast {
    double offset;
    double variance; /* without that of the measurement */
};

static void pass(struct filter *filter, double after, double lasting_ns, double path_variance) {
    double left = lasting_ns > 0.0 ? exp(-after / lasting_ns) : 0.0;
    filter->offset += filter->rate * after;
    filter->uncertainty = db_uncertainty_after(&filter->uncertainty, after);
    filter->noise = db_uncertainty_after(&filter->noise, after);
    filter->path *= left;
    filter->path_offset = left * (filter->path_offset + after * filter->path_rate);
    filter->path_rate *= left;
    filter->path_variance = left * left * filter->path_variance + (1.0 - left * left) * path_variance;
}

static struct forecast forecast_of(const struct filter *filter) {
    return (struct forecast){
        .offset = filter->offset + filter->path,
        .variance = fmax(0.0, filter->uncertainty.offset + 2.0 * filter->path_offset + filter->path_variance)};
}

/* One more offset, now. Differences of large covariances are written such that nothing is lost of the small rest: after
 * days without an offset nearly nothing is known. */
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
    double left = (old.path_offset + other) / expected; /* 1 - gain */
    const struct db_uncertainty n = old.noise;
    filter->noise.offset = left * left * n.offset + gain * gain * variance;
    filter->noise.cross = left * (n.cross - rate_gain * n.offset) + gain * rate_gain * variance;
    filter->noise.rate = n.rate - 2.0 * rate_gain * n.cross + rate_gain * rate_gain * (n.offset + variance);
}

/* The offsets of a history, and their variances. */
struct evidence {
    const struct db_history *history;
    struct variance variances[DB_HISTORY];
    double shortest_ns; /* round trip */
    double skew;
    int hypotheses; /* the first so many */
};

static double path_variance(const struct evidence *evidence, const struct hypothesis *hypothesis) {
    double deviation_ns = hypothesis->path * evidence->shortest_ns;
    return deviation_ns * deviation_ns;
}

static double variance_of(const struct evidence *evidence, const struct hypothesis *hypothesis, int point) {
    const struct variance *variance = &evidence->variances[point];
    return hypothesis->lasting_ns > 0.0 ? variance->lasting : variance->divided;
}

static struct evidence evidence_of(const struct db_history *history, double skew, double resolution_ns) {
    struct evidence evidence = {.history = history,
                                .shortest_ns = INFINITY,
                                .skew = skew,
                                .hypotheses = history->among_many ? DB_WALKS : DB_HYPOTHESES};
    weigh(history, resolution_ns, evidence.variances);
    for (int i = 0; i < history->count; ++i)
        evidence.shortest_ns = fmin(evidence.shortest_ns, width(&history->points[i]));
    return evidence;
}

/* After the first `count` offsets. */
static struct filter run(const struct evidence *evidence, int count, const struct hypothesis *hypothesis) {
    const struct db_offset *points = evidence->history->points;
    double moving = path_variance(evidence, hypothesis);
    double first = variance_of(evidence, hypothesis, 0);
    /* Before anything is known, a rate anywhere within the limits. */
    struct filter filter = {.offset = points[0].offset_ns,
                            .uncertainty = {.offset = first + moving,
                                            .rate = evidence->skew * evidence->skew / 3.0,
                                            .walk = hypothesis->walk * hypothesis->walk * 1e-9},
                            .path_variance = moving,
                            .path_offset = -moving,
                            .noise = {.offset = first}};
    for (int i = 1; i < count; ++i) {
        pass(&filter, (double)(points[i].at - points[i - 1].at), hypothesis->lasting_ns, moving);
        update(&filter, points[i].offset_ns, variance_of(evidence, hypothesis, i));
        filter.uncertainty.rate += points[i].turn * points[i].turn;
    }
    return filter;
}

static void run_all(const struct evidence *evidence, int count, struct filter filters[DB_HYPOTHESES]) {
    for (int i = 0; i < evidence->hypotheses; ++i)
        filters[i] = run(evidence, count, &hypotheses[i]);
}

/* How likely each hypothesis is; their sum is 1. */
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

/* Mean over the hypotheses, with what they differ by as part of the uncertainty. */
static struct filter mean_over(const struct evidence *evidence, const struct filter filters[DB_HYPOTHESES]) {
    double weights[DB_HYPOTHESES];
    struct filter mean = {0};
    weigh_hypotheses(evidence, weights);
    for (int i = 0; i < evidence->hypotheses; ++i) {
        mean.offset += weights[i] * (filters[i].offset - filters[0].offset); /* large offsets cost no digits */
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

/* Innovation gates, in standard deviations: beyond the first, the rate may have turned; beyond the second, all that was
 * known is given up. Derivation: one of 16,384 processes is 4 away in each synchronization. Half
 * and twice: same. */
#define GATE_TURN 5.0
#define GATE_RESET 8.0
/* When a frequency changed is unknown: it may be off by more than the mean since the last offset. Choice: it changed in
 * the last quarter of the time; half and twice: same. */
#define TURNED_RATE 4.0

/* Time constant of the likelihoods of hypotheses, since they may change. Choice; half and twice: same. */
#define REMEMBERED_NS 60e9
/* The largest innovation that counts in a likelihood: GATE_TURN. After a jump a likelihood falls by at most
 * MOST_JUMP_TELLS, a factor of 12: a clock that was set says little of the path; several times, and it was the path.
 * Choice; half and twice: same. */
#define MOST_TOLD GATE_TURN
#define MOST_JUMP_TELLS 2.5

/* By how much an offset is off, where the forecast does not lead there; else 0. */
static double surprise(const struct forecast *forecast, double offset, double variance, double deviations) {
    double off_ns = fabs(offset - forecast->offset);
    return off_ns > deviations * sqrt(forecast->variance + variance) ? off_ns : 0.0;
}

/* Judges the hypotheses by the last offset. If no walk leads to it, even on a path that moves as it is known to, the
 * clock was set by less than the limits exclude, and all before is forgotten. If only their mean does not, the
 * frequency may have turned at once. */
static void check_last(struct db_history *history, double skew, double resolution_ns) {
    int before = history->count - 1;
    if (before == 0)
        return;
    struct db_offset *last = &history->points[before];
    double after = (double)(last->at - history->points[before - 1].at);
    const struct evidence evidence = evidence_of(history, skew, resolution_ns);
    double variance = evidence.variances[before].divided;
    struct filter filters[DB_HYPOTHESES];
    double weights[DB_HYPOTHESES];
    double told[DB_HYPOTHESES];
    double best = -(double)INFINITY;
    double moving = 0.0;
    run_all(&evidence, before, filters);
    struct filter mean = mean_over(&evidence, filters);
    pass(&mean, after, 0.0, 0.0);
    weigh_hypotheses(&evidence, weights);
    for (int i = 0; i < evidence.hypotheses; ++i) {
        double path = path_variance(&evidence, &hypotheses[i]);
        moving += weights[i] * path;
        pass(&filters[i], after, hypotheses[i].lasting_ns, path);
        const struct forecast forecast = forecast_of(&filters[i]);
        double expected = forecast.variance + variance_of(&evidence, &hypotheses[i], before);
        double innovation = last->offset_ns - forecast.offset;
        told[i] = -(log(expected) + fmin(innovation * innovation / expected, MOST_TOLD * MOST_TOLD)) / 2.0;
        best = fmax(best, told[i]);
    }
    struct forecast widest = forecast_of(&filters[DB_WALKS - 1]);
    struct forecast usual = forecast_of(&mean);
    /* A jump that a path can hide must leave the bound true: it is half a round trip. */
    double hidden = evidence.shortest_ns / (4.0 * GATE_RESET);
    widest.variance += fmin(moving, hidden * hidden);
    usual.variance += moving;
    int jumped = surprise(&widest, last->offset_ns, variance, GATE_RESET) > 0.0;
    for (int i = 0; i < evidence.hypotheses; ++i)
        history->likelihoods[i] = history->likelihoods[i] * (float)exp(-after / REMEMBERED_NS) -
                                  (float)fmin(best - told[i], jumped ? MOST_JUMP_TELLS : (double)INFINITY);
    if (jumped) {
        history->points[0] = *last;
        history->count = 1;
    } else {
        last->turn = TURNED_RATE * surprise(&usual, last->offset_ns, variance, GATE_TURN) / fmax(1.0, after);
    }
}

/* The last offsets say most; of the others, the one goes that is closest to its neighbors for its age. So they reach
 * far back, and what moves slowly shows, too: up to three times what the slowest hypothesis forgets. Choice; half and
 * twice: same.
 */
#define LAST 8
#define FURTHEST_NS 100e9

static void make_room(struct db_history *history) {
    const struct db_offset *points = history->points;
    int64_t now = points[history->count - 1].at;
    int dropped = 0;
    double closest = INFINITY;
    for (int i = 1; i < history->count - LAST; ++i) {
        double part = (double)(points[i + 1].at - points[i - 1].at) / fmax(1.0, (double)(now - points[i].at));
        if (part < closest && (double)(now - points[0].at) < FURTHEST_NS) {
            closest = part;
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

/* An offset of two clocks does not show the constant asymmetry of their path; many clocks do (consensus.h). One
 * standard deviation of half of it: this part of the shortest round trip on any path, and as much as is observed to
 * move, since what divides a delay unequally for seconds does so for longer, too. Measurement: make bench-hosts, twelve
 * runs; 0.68 and 0.96 of the errors were within 1 and 2 expected errors, so half and twice are wrong there. Depends on
 * the network. */
#define UNSEEN 0.012

static double unseen_variance(const struct evidence *evidence) {
    double weights[DB_HYPOTHESES];
    double always_ns = UNSEEN * evidence->shortest_ns;
    double moving = 0.0;
    if (evidence->history->among_many)
        return 0.0;
    weigh_hypotheses(evidence, weights);
    for (int i = 0; i < evidence->hypotheses; ++i)
        moving += weights[i] * path_variance(evidence, &hypotheses[i]);
    return always_ns * always_ns + moving;
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
    model.uncertainty.unseen = unseen_variance(&evidence);
    if (noise != NULL)
        *noise = mean.noise;
    return model;
}
