/* A disciplined clock: from the clock offsets to its reference that a process has measured in many synchronizations
 * follow a rate, an offset, the expected error and a bound of the error.
 *
 * Offsets are between the two local clocks, so that corrections of the global clock are not mistaken for drift. */
#ifndef DOWNBEAT_DISCIPLINE_H
#define DOWNBEAT_DISCIPLINE_H

#include "offset/drift.h"

/* Number of stored offsets of a pair. Choice: enough for the last seconds densely and 100 s sparsely. Half and twice:
 * not measured. */
#define DB_HISTORY 24

/* Number of hypotheses of the filter (discipline.c) about two oscillators and the path between them; the first DB_WALKS
 * assume a constant path. */
#define DB_WALKS 7
#define DB_HYPOTHESES 47

/* Offsets of the reference's local clock relative to this process's, in the order of time, thinned out with age.
 * Initially zeroed. */
struct db_history {
    int reference;
    int count;
    struct db_offset points[DB_HISTORY];

    /* Log-likelihood of each hypothesis, with exponential forgetting. */
    float likelihoods[DB_HYPOTHESES];
    /* 1 for a comparison with one of many partners, which together reveal path changes: only hypotheses with a constant
     * path. */
    int among_many;

    /* Limits that this pair has been observed to need. The skew stays; the wander is halved with each offset that is
     * consistent. */
    double skew;
    double wander;
};

#define DB_MAX_PARTNERS 32

/* Residual of the comparison with a partner from the consensus. */
struct db_edge {
    int partner;
    double residual_ns; /* lead of the partner's clock according to this comparison */
};

/* Histories of a process's comparisons, on one level of a hierarchy. */
struct db_histories {
    struct db_history reference;
    struct db_history partners[DB_MAX_PARTNERS / 2]; /* partners for which this process is the asker */
    struct db_edge edges[DB_MAX_PARTNERS];           /* of all partners in the last synchronization */
    int edge_count;
    double scatter_ns; /* standard deviation of the residuals */
};

/* The limits to assume for a pair: the general ones, or those that it has been observed to need. */
struct db_limits db_history_limits(const struct db_history *history, const struct db_limits *limits);

/* Adds an offset. If the offsets contradict the limits, a clock was set, or a frequency is outside them or has changed:
 * discards all earlier offsets, assumes wider limits, and returns the difference in frequency that would explain this
 * offset, relative, at least 1e-9; else returns 0. Also discards them if the offset is beyond the filter's reset gate.
 */
double db_history_add(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits,
                      double resolution_ns);

/* The clock map from this process's local time to the reference's. The history must not be empty. Sets `noise`, unless
 * NULL, to the part of the uncertainty that comes from measurement errors, not from the oscillators. */
struct db_clock_map db_discipline(const struct db_history *history, const struct db_limits *limits,
                                  double resolution_ns, struct db_uncertainty *noise);

#endif
