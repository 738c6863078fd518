/* Consensus on the global clock: the robust weighted mean of a process's own estimate and its partners' estimates. An
 * opinion is an estimate of the global clock; an edge is the comparison of the local clocks of two partners. Called by
 * sync_disciplined.c. */
#ifndef DOWNBEAT_CONSENSUS_H
#define DOWNBEAT_CONSENSUS_H

#include "clock/clock_map.h"
#include "offset/discipline.h"

/* A process's opinion, relative to the local clock of the process that averages. */
struct db_opinion {
    struct db_clock_map map; /* from the averaging process's local time to the global clock, with the estimate's bound
                                and uncertainty */
    struct db_uncertainty prior; /* uncertainty before partners are compared */
    struct db_uncertainty edge;  /* uncertainty of the comparison with this partner; 0 for the process's own opinion */
    struct db_uncertainty noise; /* share of `edge` that comes from measurement errors, not from oscillators */
    double variance_ns2;         /* variance of that process's comparisons around their mean; 0: none yet */
};

/* Computes the weighted mean of opinions[0], the process's own, and of `count` partners' opinions, four or more, at
 * the time of opinions[0]. Weights are Tukey's biweight (outliers have weight 0) over the variance. Sets `residuals_ns`
 * to the distance of each partner from the mean. The bound of the mean is the smallest value over all opinions of:
 * bound + distance from the mean. Error model: the noise of a comparison, path asymmetry included, is independent; both
 * partners average over d comparisons each, so the difference of their two means has 2/d of the variance of a
 * comparison. Errors of the oscillators are common to all comparisons. Of the prior errors, half of the variance is
 * process 0's and common to all opinions, half is independent. */
struct db_opinion db_consensus(const struct db_opinion opinions[], int count, double resolution_ns,
                               double residuals_ns[DB_MAX_PARTNERS]);

#endif
