/* Estimators of the offset between two clocks from exchanges of timestamps (exchange.h). An estimator is a component
 * (component.h) in a file offset_<name>.c. The asker is the process that asks for readings of its peer's clock.
 *
 * Every exchange encloses the offset, whatever the estimator: the peer's clock showed `remote` after the asker sent and
 * before it received, so
 *
 *     remote - received <= offset <= remote - sent
 *
 * for any message latencies. The largest lower and the smallest upper limit over all exchanges bound the error of every
 * estimator. */
#ifndef DOWNBEAT_OFFSET_H
#define DOWNBEAT_OFFSET_H

#include "base/component.h"
#include "offset/exchange.h"

/* Maximum number of exchanges per estimate in estimators that store them all. Chosen by hand: 10 times the 100 of the
 * papers. */
#define DB_MAX_EXCHANGES 1000

/* Largest rounding error of an offset: 1 ns for the timestamp of each side and 1 ns for the map, because these are
 * integers. In addition, a timestamp lags by up to the clock's resolution, which is assumed to be the same on both
 * sides. */
#define DB_ROUNDING_NS 3.0

/* Round trips of a pair of processes so far; initially zeroed. */
struct db_pair {
    int64_t best_rtt_ns; /* smallest round trip to expect, 0 before the first exchange; kept across synchronizations */
    double mean_rtt_ns;  /* mean round trip in this synchronization, 0 until measured */
};

/* Clock offset of the peer relative to the asker: peer = asker + offset, at the asker's time `at`. */
struct db_offset {
    int64_t at; /* asker's time at which the offset holds, ns */
    double offset_ns;
    double lower_ns; /* lower and upper limit of the offset, except for drift during the exchanges */
    double upper_ns;
    double duration_ns;        /* from the first to the last exchange */
    double drift_ns;           /* largest drift between the clocks during the exchanges; set by the caller */
    double drift_deviation_ns; /* standard deviation of that drift */
    double rate_step;          /* standard deviation of a possible frequency step before this offset, relative; set by
                                  discipline.c */
    double deviation_ns;       /* standard deviation of the offsets of single exchanges */
    double rtt_ns;             /* smallest round trip */
    int exchanges;             /* number of exchanges */
};

/* An estimator. */
struct db_offset_type {
    struct db_component component;
    /* Measures the offset; `self` has the parameters. Does not end the exchanges (db_exchange_stop). */
    int (*measure)(const struct db_node *self, const struct db_asker *asker, struct db_pair *pair,
                   struct db_offset *offset);
};

extern const struct db_offset_type db_offset_skampi;
extern const struct db_offset_type db_offset_netgauge;
extern const struct db_offset_type db_offset_mean_rtt;
extern const struct db_offset_type db_offset_cristian;
extern const struct db_offset_type db_offset_best_rtt;

/* Registry (registry.h); the first is the default. */
extern const void *const db_offset_types[];

/* Measures the offset with the selected estimator. */
int db_offset_measure(const struct db_node *chosen, const struct db_asker *asker, struct db_pair *pair,
                      struct db_offset *offset);

/* Largest possible error of the offset, ns, without drift during the exchanges. */
double db_offset_bound(const struct db_offset *offset);

/* Running limits and sums over the exchanges of one estimate; initially zeroed. For estimators. */
struct db_series {
    int64_t lower;         /* largest lower limit so far, ns */
    int64_t upper;         /* smallest upper limit so far, ns */
    int64_t first_sent;    /* asker's time, ns */
    int64_t last_received; /* asker's time, ns */
    int64_t shortest_ns;   /* shortest round trip */
    int64_t base;          /* lower limit of the first exchange; the sums are relative to it */
    double sum;            /* of the midpoint offsets of the exchanges */
    double sum_of_squares;
    int count; /* number of exchanges */
};

/* Makes one exchange and adds it to the series. */
int db_series_ask(struct db_series *series, const struct db_asker *asker, struct db_exchange *exchange);

/* Completes the estimate `offset_ns` at time `at` with limits and statistics of the series. */
struct db_offset db_series_conclude(const struct db_series *series, int64_t at, double offset_ns);

/* Time from sending to receiving on the asker's clock, ns. */
static inline int64_t db_round_trip(const struct db_exchange *exchange) { return exchange->received - exchange->sent; }

/* The offset under the assumption that both one-way delays are equal, ns. */
static inline double db_midpoint(const struct db_exchange *exchange) {
    return (double)(exchange->remote - exchange->received) + (double)db_round_trip(exchange) / 2.0;
}

#endif
