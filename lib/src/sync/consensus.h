/* The global clock by what many partners make of it: a robust mean. */
#ifndef DOWNBEAT_CONSENSUS_H
#define DOWNBEAT_CONSENSUS_H

#include "clock/clock_map.h"
#include "offset/discipline.h"

/* The global clock as a process or one of its partners knows it. */
struct db_opinion {
    struct db_clock_map map;     /* from own local time, with the errors of who holds it */
    struct db_uncertainty prior; /* of what it rests on, before all comparisons with partners */
    struct db_uncertainty edge;  /* of the comparison that it came over, 0 for the own; and the part of it ... */
    struct db_uncertainty noise; /* ... that comes from the errors of offsets, and not from oscillators */
    double variance_ns2;         /* by which the comparisons of who holds it scatter around what they agree on */
};

/* The mean of the own opinion (the first) and those of `count` partners, at the time of the own, each weighted by what
 * is known of its errors, and those far from all others not at all (Tukey's biweight). Sets `residuals_ns` to how far
 * each partner is from it. The bound of every opinion holds, and for the mean as far as that is from it. The variance
 * is that of the comparisons, what no exchange shows included; a mean over d of them, held against process 0, which
 * has as many, is off by twice a d-th of it. Errors of the two oscillators are the same in all. Half of the errors that
 * the opinions had before are process 0's, and the same in all, half are their own. */
struct db_opinion db_consensus(const struct db_opinion opinions[], int count, double resolution_ns,
                               double residuals_ns[DB_MAX_PARTNERS]);

#endif
