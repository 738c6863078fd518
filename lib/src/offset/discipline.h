/* A disciplined clock: a process measures the offset to the clock of its reference (the process that it follows) in
 * each synchronization. From the offsets of many synchronizations it estimates rate, offset, expected error and a bound
 * of the error.
 *
 * Offsets are between the two local clocks, not global clocks, so that corrections of the global clock are not mistaken
 * for drift. */
#ifndef DOWNBEAT_DISCIPLINE_H
#define DOWNBEAT_DISCIPLINE_H

#include "offset/drift.h"

/* Maximum number of stored offsets of a pair. Chosen by hand: enough for many offsets of the last seconds and a few of
 * the last 100 s. Half and twice the value are not measured. */
#define DB_HISTORY 24

/* Number of hypotheses (discipline.c) about two oscillators and the path between them. The first DB_WALKS hypotheses
 * assume a constant path and differ in the random walk of the frequency. */
#define DB_WALKS 7
#define DB_HYPOTHESES 47

/* Offsets of the reference's local clock relative to this process's local clock, in the order of time; of older
 * offsets, fewer are kept. Initially zeroed. */
struct db_history {
    int reference; /* rank of the reference */
    int count;     /* number of points */
    struct db_offset points[DB_HISTORY];

    /* Log-likelihood of each hypothesis, relative to the largest one; earlier offsets count exponentially less. */
    float likelihoods[DB_HYPOTHESES];
    /* 1 for a comparison with one of many partners, which together reveal path changes: only hypotheses with a constant
     * path. */
    int among_many;

    /* Limits (drift.h) that the offsets of this pair have exceeded, relative; 0: none. The skew stays; each further
     * consistent offset halves the wander. */
    double skew;
    double wander;
};

/* Maximum number of partners: other processes that a process compares its clock with, besides its reference
 * (sync/sync_disciplined.c). */
#define DB_MAX_PARTNERS 32

/* An edge: the comparison with a partner, and its residual from the consensus of all comparisons (sync/consensus.h). */
struct db_edge {
    int partner;        /* rank */
    double residual_ns; /* lead of the partner's clock according to this comparison */
};

/* Histories of a process's comparisons, on one level of a hierarchy. */
struct db_histories {
    struct db_history reference;                     /* comparisons with the reference */
    struct db_history partners[DB_MAX_PARTNERS / 2]; /* comparisons in which this process is the asker */
    struct db_edge edges[DB_MAX_PARTNERS];           /* comparisons with all partners in the last synchronization */
    int edge_count;                                  /* number of edges; 0: no partners */
    double scatter_ns;                               /* standard deviation of the residuals */
};

/* Returns the limits to assume for a pair: the larger of `limits` and those of the history. */
struct db_limits db_history_limits(const struct db_history *history, const struct db_limits *limits);

/* Adds an offset. Returns 0 if the offsets agree with the limits. Otherwise a clock was set, or a frequency is outside
 * the limits or has changed: discards all earlier offsets, raises the pair's limits, and returns the difference in
 * frequency that would explain this offset, relative, at least 1e-9. Discards earlier offsets also if the offset is
 * beyond the filter's reset gate, and returns 0 then. */
double db_history_add(struct db_history *history, const struct db_offset *offset, const struct db_limits *limits,
                      double resolution_ns);

/* Estimates the clock map from this process's local time to the reference's. The history must not be empty. Sets
 * `noise`, unless NULL, to the share of the uncertainty that comes from measurement errors, not from the oscillators.
 */
struct db_clock_map db_discipline(const struct db_history *history, const struct db_limits *limits,
                                  double resolution_ns, struct db_uncertainty *noise);

#endif
