/* Models of a peer's clock (drift.h): a weighted least-squares line through measured offsets, and bounds of its error
 * from pairs of offsets. */
#include "offset/drift.h"

#include "base/error.h"
#include "clock/wait.h"

#include <stdlib.h>

const struct db_component db_intercept_fit = {
    DB_DESCRIBED("fit", "the intercept of the fitted line", "Jones, Koenig 2012", DB_NO_PARAMETERS)};

const struct db_node db_intercept_of_fit = {.component = &db_intercept_fit};

const struct db_component *const db_intercept_words[] = {&db_intercept_fit, NULL};

struct db_learning db_learning_fit(const struct db_node *scheme) {
    return (struct db_learning){.offset = db_child(scheme, DB_OFFSET),
                                .fit_points = db_integer(scheme, DB_FIT),
                                .over_ns = db_number(scheme, DB_OVER) * 1e9,
                                .intercept = db_child(scheme, DB_INTERCEPT)};
}

struct db_learning db_learning_offset(const struct db_node *scheme) {
    return (struct db_learning){.offset = db_child(scheme, 0)};
}

/* Model of an offset without drift: peer's time = local time + offset. The bound grows by the largest skew. */
static struct db_clock_map offset_model(const struct db_offset *offset, double skew) {
    double bound_ns = db_offset_bound(offset) + offset->drift_ns;
    return (struct db_clock_map){.ticks = offset->at,
                                 .global_ns = offset->at + llrint(offset->offset_ns),
                                 .ns_per_tick = 1.0,
                                 .bound_ns = bound_ns,
                                 .growth = skew,
                                 .uncertainty = db_uncertainty_within(bound_ns, skew)};
}

/* Offset on the line at a local time, ns. */
static double line_at(const struct db_line *line, double time) { return line->value + line->slope * (time - line->at); }

static double interval_width(const struct db_offset *point) { return fabs(point->upper_ns - point->lower_ns); }

/* Returns the offset with the narrowest interval. */
static const struct db_offset *narrowest(const struct db_offset *points, int count) {
    const struct db_offset *best = points;
    for (int i = 1; i < count; ++i)
        if (interval_width(&points[i]) < interval_width(best))
            best = &points[i];
    return best;
}

/* Narrows the range of slopes by a pair of offsets, which bounds the mean slope between them. Until the later offset, a
 * ramp can change the slope from that mean by ramp * span / 2; until now, by ramp times the time since then. A pair
 * with a long span bounds the mean slope best, a pair with a short span the present slope, so db_drift_slopes uses many
 * pairs. */
static void confine(struct db_slopes *possible, const struct db_offset *early, const struct db_offset *late, double now,
                    double ramp, double resolution_ns) {
    double span = (double)(late->at - early->at);
    if (span <= 0.0)
        return;
    double margin = early->drift_ns + late->drift_ns + 2.0 * (resolution_ns + DB_ROUNDING_NS);
    double slope_change = ramp * (now - (double)late->at + span / 2.0);
    possible->smallest = fmax(possible->smallest, (late->lower_ns - early->upper_ns - margin) / span - slope_change);
    possible->largest = fmin(possible->largest, (late->upper_ns - early->lower_ns + margin) / span + slope_change);
}

int db_drift_slopes(const struct db_offset *points, int count, const struct db_limits *limits, double resolution_ns,
                    struct db_slopes *possible) {
    /* Divides the points into GROUPS of equal count, and uses all pairs of the groups' narrowest offsets. */
    enum { GROUPS = 24 }; /* as many as DB_HISTORY (discipline.h), so that each stored offset is a group */
    const struct db_offset *narrowest_points[GROUPS];
    int groups = count < GROUPS ? count : GROUPS;
    double now = (double)points[count - 1].at;
    *possible = (struct db_slopes){-(double)INFINITY, INFINITY};
    for (int i = 0; i < groups; ++i) {
        int64_t first = (int64_t)i * count / groups;
        int64_t end = (int64_t)(i + 1) * count / groups;
        narrowest_points[i] = narrowest(points + first, (int)(end - first));
        for (int k = 0; k < i; ++k)
            confine(possible, narrowest_points[k], narrowest_points[i], now, limits->ramp, resolution_ns);
    }
    if (possible->smallest > limits->skew || possible->largest < -limits->skew)
        return 0;
    possible->smallest = fmax(possible->smallest, -limits->skew);
    possible->largest = fmin(possible->largest, limits->skew);
    return possible->smallest <= possible->largest + limits->wander;
}

/* Fits a line by weighted least squares (Hunold 2015, Alg. 4, line 20, has equal weights). The weight is the inverse
 * square of the interval's width, so that a point measured during a disturbance does not bend the line. Times and
 * offsets are relative to the first point, so that large timestamps lose no digits. The slope is clamped to the range
 * that the intervals allow: points in quick succession determine it poorly. */
static struct db_line fit(const struct db_offset *points, int count, const struct db_limits *limits,
                          double resolution_ns) {
    /* Weighted sums over the points. */
    double weights = 0.0;
    double times = 0.0;
    double offsets = 0.0;
    double squares = 0.0;  /* of times */
    double products = 0.0; /* of times and offsets */
    for (int i = 0; i < count; ++i) {
        double scale = interval_width(&points[i]) + resolution_ns + 1.0; /* never 0 */
        double weight = 1.0 / (scale * scale);
        double time = (double)(points[i].at - points[0].at);
        double offset = points[i].offset_ns - points[0].offset_ns;
        weights += weight;
        times += weight * time;
        offsets += weight * offset;
        squares += weight * time * time;
        products += weight * time * offset;
    }
    double variance = squares - times * times / weights;
    double covariance = products - times * offsets / weights;
    struct db_slopes possible;
    db_drift_slopes(points, count, limits, resolution_ns, &possible);
    double smallest = fmin(possible.smallest, possible.largest);
    double largest = fmax(possible.smallest, possible.largest);
    return (struct db_line){.at = (double)points[0].at + times / weights,
                            .value = points[0].offset_ns + offsets / weights,
                            .slope = fmin(fmax(variance > 0.0 ? covariance / variance : 0.0, smallest), largest)};
}

/* Largest error of the slope at any time until now. It is never more than the skew allows. */
static double slope_error(double slope, const struct db_slopes *possible, const struct db_limits *limits) {
    double error = fmax(fabs(slope - possible->smallest), fabs(possible->largest - slope)) + limits->wander;
    return fmin(error, limits->skew + fabs(slope));
}

/* With at most this number of points, only the last point bounds the line, because a clock step cannot be distinguished
 * from an unknown rate. Measured in 1,200 random conditions (make bench-scale); half or twice the value makes no
 * difference there. */
#define MAX_POINTS_WITHOUT_RATE 8

/* Bound of the line's error at `time`, ns. Each point gives a bound: its own error bound plus the growth since then.
 * The result is the smallest. */
static double line_bound(const struct db_line *line, const struct db_offset *points, int count, double time,
                         double growth, double ramp) {
    double bound = INFINITY;
    for (int i = count <= MAX_POINTS_WITHOUT_RATE ? count - 1 : 0; i < count; ++i) {
        const struct db_offset *point = &points[i];
        struct db_offset predicted = *point;
        predicted.offset_ns = line_at(line, (double)point->at);
        double bound_at_point = db_offset_bound(&predicted) + point->drift_ns;
        double elapsed = fabs(time - (double)point->at);
        bound = fmin(bound, bound_at_point + elapsed * (growth + elapsed * ramp / 2.0));
    }
    return bound;
}

struct db_clock_map db_drift_model(const struct db_line *line, const struct db_offset *points, int count,
                                   const struct db_limits *limits, double resolution_ns) {
    struct db_slopes possible;
    db_drift_slopes(points, count, limits, resolution_ns, &possible);
    double slope = line->slope;
    double error = slope_error(slope, &possible, limits);

    int64_t time = points[count - 1].at;
    double bound_ns = line_bound(line, points, count, (double)time, error, limits->ramp);
    double growth = error / (1.0 + slope); /* relative to the peer's time */
    return (struct db_clock_map){
        .ticks = time,
        .global_ns = time + llrint(line_at(line, (double)time)),
        .ns_per_tick = 1.0 + slope,
        .bound_ns = bound_ns,
        .growth = growth,
        .ramp = limits->ramp,
        .uncertainty = db_uncertainty_within(bound_ns, growth),
    };
}

/* Measures the points of the fit, spread evenly over `over_ns`. */
static int measure_points(const struct db_learning *learning, const struct db_asker *asker, struct db_pair *pair,
                          struct db_offset *points) {
    const struct db_timeline *timeline = &asker->timeline;
    double start = (double)db_timeline_now(timeline);
    for (int i = 0; i < learning->fit_points; ++i) {
        double due = start + learning->over_ns * i / (learning->fit_points - 1);
        if (learning->over_ns > 0.0)
            db_wait_until(timeline->clock, db_clock_read(timeline->clock), db_map_ticks(timeline->map, llrint(due)),
                          db_patience_of(asker->channel));
        DB_TRY(db_offset_measure(learning->offset, asker, pair, &points[i]));
    }
    return MPI_SUCCESS;
}

/* The offsets that a model is computed from. */
struct measured {
    struct db_offset *points; /* fit_points elements */
    struct db_offset latest;  /* the offset if fit_points is 0; else the offset for the intercept, unset if the fit has
                                 the intercept */
};

/* Measures all offsets of a model. Sets `peer` to the error of the peer's timeline. */
static int measure_all(const struct db_learning *learning, const struct db_asker *asker, struct db_pair *pair,
                       struct measured *measured, struct db_timeline_error *peer) {
    DB_TRY(db_exchange_begin(asker));
    pair->mean_rtt_ns = 0.0;
    if (learning->fit_points <= 0)
        DB_TRY(db_offset_measure(learning->offset, asker, pair, &measured->latest));
    else
        DB_TRY(measure_points(learning, asker, pair, measured->points));
    if (learning->fit_points > 0 && !db_is(learning->intercept, &db_intercept_fit))
        DB_TRY(db_offset_measure(learning->intercept, asker, pair, &measured->latest));
    return db_exchange_stop(asker, peer);
}

/* Computes the model from the measured offsets. */
static struct db_clock_map model_of(const struct db_learning *learning, struct measured *measured,
                                    const struct db_limits *limits, double resolution_ns) {
    measured->latest.drift_ns = limits->skew * measured->latest.duration_ns;
    for (int i = 0; i < learning->fit_points; ++i)
        measured->points[i].drift_ns = limits->skew * measured->points[i].duration_ns;
    if (learning->fit_points <= 0)
        return offset_model(&measured->latest, limits->skew);
    struct db_line fitted = fit(measured->points, learning->fit_points, limits, resolution_ns);
    struct db_clock_map line = db_drift_model(&fitted, measured->points, learning->fit_points, limits, resolution_ns);
    if (db_is(learning->intercept, &db_intercept_fit))
        return line;
    /* Hunold 2015, Alg. 4, line 26: take the slope of the line and a new intercept. */
    struct db_clock_map model = offset_model(&measured->latest, limits->skew);
    model.ns_per_tick = line.ns_per_tick;
    model.growth = line.growth;
    model.ramp = line.ramp;
    model.uncertainty.rate = line.uncertainty.rate;
    return model;
}

/* Number of points on the stack, also used if memory for more runs out: a line through fewer points is valid, too,
 * since its bound follows from the measured points. Chosen by hand: 2 KiB of stack. */
enum { STACK_POINTS = 16 };

int db_drift_learn(const struct db_learning *learning, const struct db_limits *limits, const struct db_asker *asker,
                   struct db_pair *pair, struct db_clock_map *model) {
    struct db_learning possible = *learning;
    struct db_offset stack_points[STACK_POINTS] = {{0}};
    struct db_offset *heap_points = NULL;
    struct measured measured = {.points = stack_points};
    if (learning->fit_points > STACK_POINTS) {
        heap_points = malloc((size_t)learning->fit_points * sizeof *heap_points);
        if (heap_points != NULL)
            measured.points = heap_points;
        else
            possible.fit_points = STACK_POINTS;
    }
    struct db_timeline_error peer;
    int code = measure_all(&possible, asker, pair, &measured, &peer);
    if (code == MPI_SUCCESS) {
        /* The peer's timeline may run faster or slower than its clock. */
        const struct db_limits allowed = {
            .skew = limits->skew + peer.growth, .wander = limits->wander, .ramp = limits->ramp};
        *model = model_of(&possible, &measured, &allowed, asker->timeline.clock->resolution_ns);
        model->bound_ns += peer.bound_ns + asker->timeline.clock->resolution_ns + DB_ROUNDING_NS;
        model->growth += peer.growth;
        model->ramp = fmax(model->ramp, peer.ramp);
        model->uncertainty = db_uncertainty_sum(&model->uncertainty, &peer.uncertainty);
    }
    free(heap_points);
    return code;
}
