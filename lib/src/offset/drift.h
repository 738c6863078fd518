/* A process's model of another's clock: an offset, or a line through offsets that were measured over some time.
 *
 * The result is a clock map from the learner's local time (ns since the synchronization began) to the time that the
 * peer answers with. It includes a bound on its error that holds for any message latencies, as long as two clocks
 * differ in frequency by at most max_skew, and this difference changes by at most max_wander and DB_MAX_RAMP per
 * second. */
#ifndef DOWNBEAT_DRIFT_H
#define DOWNBEAT_DRIFT_H

#include "offset/offset.h"

/* Largest lasting change of the difference between two frequencies, per s: Derivation: two oscillators that
 * warm up at the rate of 100 ppb/s each, a server whose fans have failed. */
#define DB_MAX_RAMP 200e-9

/* How much clocks are allowed to drift; relative. */
struct db_limits {
    double skew;   /* largest difference in frequency between any two clocks */
    double wander; /* by which that difference may change at once ... */
    double ramp;   /* ... and may go on changing, per ns */
};

/* The difference in frequency that offsets allow: at any time, it is in this range or at most a wander outside, and a
 * ramp for the time since the last offset. */
struct db_slopes {
    double smallest;
    double largest;
};

/* Sets `possible` to what the offsets leave of the limits, `points` in the order of time. Returns 0 if nothing is left:
 * no two clocks within the limits have such offsets. */
int db_drift_slopes(const struct db_offset *points, int count, const struct db_limits *limits, double resolution_ns,
                    struct db_slopes *possible);

/* How to learn. */
struct db_learning {
    const struct db_node *offset;    /* estimator */
    int fit_points;                  /* of the line, at least 2; 0: offset only, no drift */
    double over_ns;                  /* the fit points are spread over this time; 0: back to back */
    const struct db_node *intercept; /* estimator of a fresh offset on the line, or db_intercept_fit */
};

/* A line's intercept is that of the fit, or comes from any offset estimator. */
extern const struct db_component db_intercept_fit;
extern const struct db_node db_intercept_of_fit;              /* db_intercept_fit, chosen */
extern const struct db_component *const db_intercept_words[]; /* of parameter DB_INTERCEPT */

/* Parameters of schemes that fit drift, in this order: */
enum { DB_FIT, DB_OVER, DB_OFFSET, DB_INTERCEPT };

/* Their descriptions, except that of an intercept which is never the fit's. Counts are the published ones; a line
 * learned from a short burst is worse a second later than no line, so by default the points are spread. */
#define DB_FIT_PARAMETERS(POINTS, ESTIMATOR)                                                                           \
    {"fit", POINTS, "fit points (N_FITPTS)", NULL, 2, 1e6, 1},                                                         \
        {"over", "1", "seconds to spread the fit points over, at least; 0: back to back, as published", NULL, 0,       \
         3600,   0},                                                                                                   \
    {                                                                                                                  \
        "offset", ESTIMATOR, "estimator of the offset at each fit point", "offset", 0, 0, 0                            \
    }
#define DB_INTERCEPT_PARAMETER(DEFAULT)                                                                                \
    { "intercept", DEFAULT, "intercept of the line: fit, or an estimator of a fresh offset", "offset", 0, 0, 0 }

/* The request of a scheme's node with parameters DB_FIT .. DB_INTERCEPT. */
struct db_learning db_learning_fit(const struct db_node *scheme);

/* The only parameter of schemes that do not fit drift, and its request. */
#define DB_OFFSET_PARAMETER(ESTIMATOR)                                                                                 \
    { "offset", ESTIMATOR, "estimator of the offset", "offset", 0, 0, 0 }
struct db_learning db_learning_offset(const struct db_node *scheme);

/* A line: offset = value + slope (t - at), t and at local. */
struct db_line {
    double at;
    double value;
    double slope;
};

/* The model that a line through measured offsets makes, with the bound that these leave it; a slope that they exclude
 * is moved to the nearest that they allow. `points` in the order of time. */
struct db_clock_map db_drift_model(const struct db_line *line, const struct db_offset *points, int count,
                                   const struct db_limits *limits, double resolution_ns);

/* Learns the asker's peer, who answers until this is over, on the asker's local timeline. */
int db_drift_learn(const struct db_learning *learning, const struct db_limits *limits, const struct db_asker *asker,
                   struct db_pair *pair, struct db_clock_map *model);

#endif
