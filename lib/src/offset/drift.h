/* A process's model of a peer's clock: an offset, or a line fitted to offsets that were measured over some time (fit
 * points). The synchronization schemes (sync/) learn such models from pairs of processes.
 *
 * The result is a clock map from the learner's local time, ns since the beginning of the synchronization, to the peer's
 * timeline. Its error bound holds for any message latencies, as long as two clocks differ in frequency by at most
 * max_skew, and this difference changes by at most max_wander at once and DB_MAX_RAMP per second. */
#ifndef DOWNBEAT_DRIFT_H
#define DOWNBEAT_DRIFT_H

#include "offset/offset.h"

/* Largest sustained change of the difference between two frequencies, relative per s: 100 ppb/s for each oscillator, in
 * a server whose fans have failed. */
#define DB_MAX_RAMP 200e-9

/* Limits of clock drift. The error bounds hold if no clock exceeds them. */
struct db_limits {
    double skew;   /* largest difference in frequency between two clocks, relative */
    double wander; /* largest step of that difference, relative */
    double ramp;   /* largest sustained change of that difference, relative per ns */
};

/* Range of the difference in frequency (slope of the offset, relative) that the measured offsets allow. The true
 * difference may be outside by `wander`, and by `ramp` times the time since the last offset. */
struct db_slopes {
    double smallest;
    double largest;
};

/* Sets `possible` to the slopes that agree with the offsets and the limits; `points` are in the order of time. Returns
 * 0 if the range is empty: the offsets contradict the limits. Else returns 1. */
int db_drift_slopes(const struct db_offset *points, int count, const struct db_limits *limits, double resolution_ns,
                    struct db_slopes *possible);

/* How to learn a peer's clock. */
struct db_learning {
    const struct db_node *offset;    /* estimator of each offset */
    int fit_points;                  /* number of points of the line, at least 2; 0: offset only, no drift */
    double over_ns;                  /* time over which the points are spread; 0: back to back */
    const struct db_node *intercept; /* estimator of a new offset for the intercept, or db_intercept_fit */
};

/* The word `fit` as value of parameter `intercept`: the line has the intercept of the fit, not a new offset. */
extern const struct db_component db_intercept_fit;
extern const struct db_node db_intercept_of_fit;              /* db_intercept_fit, selected */
extern const struct db_component *const db_intercept_words[]; /* of parameter DB_INTERCEPT */

/* Indices of the parameters of schemes that fit drift. */
enum { DB_FIT, DB_OVER, DB_OFFSET, DB_INTERCEPT };

/* Descriptions of the first three. The default counts are published. By default the points are spread over 1 s, not
 * back to back as published, because after 1 s a line fitted to a short burst is less accurate than no line. */
#define DB_FIT_PARAMETERS(POINTS, ESTIMATOR)                                                                           \
    {"fit", POINTS, "fit points (N_FITPTS)", NULL, 2, 1e6, 1},                                                         \
        {"over", "1", "seconds to spread the fit points over, at least; 0: back to back, as published", NULL, 0,       \
         3600,   0},                                                                                                   \
    {                                                                                                                  \
        "offset", ESTIMATOR, "estimator of the offset at each fit point", "offset", 0, 0, 0                            \
    }
#define DB_INTERCEPT_PARAMETER(DEFAULT)                                                                                \
    { "intercept", DEFAULT, "intercept of the line: fit, or an estimator of a fresh offset", "offset", 0, 0, 0 }

/* Reads the parameters DB_FIT to DB_INTERCEPT of a scheme. */
struct db_learning db_learning_fit(const struct db_node *scheme);

/* The only parameter of schemes that do not fit drift, and the function that reads it. */
#define DB_OFFSET_PARAMETER(ESTIMATOR)                                                                                 \
    { "offset", ESTIMATOR, "estimator of the offset", "offset", 0, 0, 0 }
struct db_learning db_learning_offset(const struct db_node *scheme);

/* A line of the offset over local time t, ns: offset = value + slope (t - at). */
struct db_line {
    double at;    /* a local time, ns */
    double value; /* offset at that time, ns */
    double slope; /* difference in frequency, relative */
};

/* Converts a line through measured offsets to a clock map, with the error bound that follows from the offsets. `points`
 * are in the order of time. */
struct db_clock_map db_drift_model(const struct db_line *line, const struct db_offset *points, int count,
                                   const struct db_limits *limits, double resolution_ns);

/* Measures the clock of the asker's peer, which calls db_exchange_serve meanwhile. Sets `model` to the map from the
 * asker's timeline to the peer's. */
int db_drift_learn(const struct db_learning *learning, const struct db_limits *limits, const struct db_asker *asker,
                   struct db_pair *pair, struct db_clock_map *model);

#endif
