/* A clock that is disciplined by another: what a process has learned of its reference's clock over many
 * synchronizations becomes a rate, an offset, the error to be expected and a bound of the error.
 *
 * Offsets are kept between the two local clocks, so that what either side corrects in its global clock is not taken for
 * drift. */
#ifndef DOWNBEAT_DISCIPLINE_H
#define DOWNBEAT_DISCIPLINE_H

#include "offset/drift.h"

/* Offsets of a pair. Choice: the last seconds densely, 100 s sparsely. Half and twice: not measured. */
#define DB_HISTORY 24

/* Hypotheses of how two oscillators and the path between them behave (discipline.c): the first of them of oscillators
 * alone. */
#define DB_WALKS 7
#define DB_HYPOTHESES 47

/* Offsets of the reference's local clock against the own, in the order of time: the last ones, and the fewer the longer
 * ago. Empty if zeroed. */
struct db_history {
    int reference;
    int count;
    struct db_offset points[DB_HISTORY];

    /* Logarithms of how well each hypothesis has predicted the offsets, the last ones above all. */
    float likelihoods[DB_HYPOTHESES];
    /* This comparison is one among many, which together show how paths move: oscillators alone. */
    int among_many;

    /* At least so much is assumed of a pair that has refuted the limits. A frequency stays where it is; that it changes
     * is half as likely with each offset that fits. */
    double skew;
    double wander;
};

#define DB_MAX_PARTNERS 32

/* Distance of a comparison with a partner from the mean of all. */
struct db_edge {
    int partner;
    double residual_ns; /* by which the partner's clock seems to be ahead */
};

/* The clocks that a process compares its own with, on one level of a hierarchy. */
struct db_histories {
    struct db_history reference;
    struct db_history partners[DB_MAX_PARTNERS / 2]; /* those that it asks */
    struct db_edge edges[DB_MAX_PARTNERS];           /* of the last synchronization */
    int edge_count;
    double scatter_ns; /* standard deviation of the comparisons */
};

/* The limits that are assumed for a pair. */
struct db_limits db_history_limits(const struct db_history *history, const struct db_limits *limits);

/* Adds an offset. If no two clocks within the limits have such offsets, one of them was set, or its frequency is
 * outside them or has changed: forgets all earlier offsets, assumes wider limits, and returns the difference in
 * frequency that would explain this offset, relative, at least 1e-9; else returns 0. Also forgets them if nothing led
 * to expect this offset. */
double db_history_add(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits,
                      double resolution_ns);

/* From own local time to the reference's. The history is not empty. Sets `noise` to the part of the uncertainty that
 * comes from the offsets' own errors, and not from the two oscillators; NULL: it is not needed. */
struct db_clock_map db_discipline(const struct db_history *history, const struct db_limits *limits,
                                  double resolution_ns, struct db_uncertainty *noise);

#endif
