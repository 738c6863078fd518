/* The global clock by what many partners make of it: a robust mean. */
#ifndef DOWNBEAT_CONSENSUS_H
#define DOWNBEAT_CONSENSUS_H

#include "clock/clock_map.h"
#include "offset/discipline.h"

/* The global clock as a process or one of its partners knows it. */
struct db_opinion {
    struct db_clock_map map;     /* from own local time, with the errors of who holds it */
    struct db_uncertainty prior; /* uncertainty before partners are compared */
    struct db_uncertainty edge;  /* of the comparison with this partner, 0 for the process itself */
    struct db_uncertainty noise; /* the part of it that comes from errors of offsets, not from oscillators */
    double variance_ns2;         /* scatter of the holder's comparisons around their mean */
};

/* The mean of the own opinion (the first) and those of `count` partners, at the time of the own, each weighted by what
 * is known of its errors, and those far from all others not at all (Tukey's biweight). Sets `residuals_ns` to the
 * distance of each partner from it. Each opinion has a bound; the mean's is the smallest of opinion's bound + distance
 * from the mean. Variance of one comparison, with the asymmetry that no exchange shows: both ends average d
 * comparisons, so their difference has 2/d of it. Errors of the two oscillators are the same in all. Half of the errors
 * that the opinions had before are process 0's, and the same in all, half are their own. */
struct db_opinion db_consensus(const struct db_opinion opinions[], int count, double resolution_ns,
                               double residuals_ns[DB_MAX_PARTNERS]);

#endif
