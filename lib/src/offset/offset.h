/* Estimators of the offset between two clocks from exchanges of timestamps.
 *
 * However an estimator evaluates the exchanges, they all enclose the offset: the peer's clock showed `remote` after the
 * asker sent and before it received, so
 *
 *     remote - received <= offset <= remote - sent
 *
 * for any message latencies. The largest lower and the smallest upper limit over all exchanges are kept for
 * every estimator, so that each has a bound of its error. */
#ifndef DOWNBEAT_OFFSET_H
#define DOWNBEAT_OFFSET_H

#include "base/component.h"
#include "offset/exchange.h"

/* Exchanges per estimate at most, where an estimator keeps them all. Choice: 10 times the papers' 100. */
#define DB_MAX_EXCHANGES 1000

/* Derivation: timestamps and maps are whole nanoseconds, one of them on either side, one in the map. In addition, a
 * timestamp lags by the clock's resolution, which is assumed to be the same on both sides. */
#define DB_ROUNDING_NS 3.0

/* Knowledge about a pair of processes; empty if zeroed. */
struct db_pair {
    int64_t best_rtt_ns; /* smallest round trip to be expected, 0 before the first; lasts */
    double mean_rtt_ns;  /* mean round trip in this synchronization, 0 before it has been measured */
};

/* The offset of the peer's clock against the asker's: peer = asker + offset, at the asker's time `at`. */
struct db_offset {
    int64_t at;
    double offset_ns;
    double lower_ns; /* the offset is between these two, except for drift during the exchanges */
    double upper_ns;
    double duration_ns;        /* from the first to the last exchange */
    double drift_ns;           /* largest drift of the clocks during the exchanges; set by sync/ */
    double drift_deviation_ns; /* its standard deviation */
    double turn;               /* relative deviation of the frequency by which it may have turned before this offset */
    double deviation_ns;       /* standard deviation of the offsets of the single exchanges */
    double rtt_ns;             /* smallest round trip */
    int exchanges;
};

struct db_offset_type {
    struct db_component component;
    /* Measures the offset; `self` has the parameters. The peer goes on answering. */
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

/* Measures by the chosen estimator. */
int db_offset_measure(const struct db_node *chosen, const struct db_asker *asker, struct db_pair *pair,
                      struct db_offset *offset);

/* The largest error that the exchanges allow, without drift during them. */
double db_offset_bound(const struct db_offset *offset);

/* The exchanges of one estimate as they come in. Begins zeroed. For estimators. */
struct db_series {
    int64_t lower;
    int64_t upper;
    int64_t first_sent;
    int64_t last_received;
    int64_t shortest_ns; /* round trip */
    int64_t base;        /* offset of the first exchange, that the sums are relative to */
    double sum;
    double sum_of_squares;
    int count;
};

/* Asks once more. */
int db_series_ask(struct db_series *series, const struct db_asker *asker, struct db_exchange *exchange);

/* The estimate `offset_ns`, valid at `at`, from all exchanges of the series. */
struct db_offset db_series_conclude(const struct db_series *series, int64_t at, double offset_ns);

static inline int64_t db_round_trip(const struct db_exchange *exchange) { return exchange->received - exchange->sent; }

/* The offset if both directions took the same. */
static inline double db_midpoint(const struct db_exchange *exchange) {
    return (double)(exchange->remote - exchange->received) + (double)db_round_trip(exchange) / 2.0;
}

#endif
