/* The estimator mean_rtt, of Jones and Koenig, and of HCA (Hunold 2015, sections 2 and 6, Alg. 3 and 4): each answer of
 * the peer is corrected by half the mean round trip; the result is the median of the corrected offsets. The mean round
 * trip is measured once per pair and synchronization, without outliers, from the same kind of exchange as the offsets:
 * another kind, such as synchronous sends, would add a constant error to every offset. */
#include "offset/offset.h"

#include "base/error.h"

#include <stdlib.h>

enum { RTT, EXCHANGES }; /* indices of the parameters */

static const Downbeat_parameter parameters[] = {
    {"rtt", "100", "exchanges for the mean round trip (N_PINGPONGS)", NULL, 4, DB_MAX_EXCHANGES, 1},
    {"exchanges", "100", "exchanges per offset; their median is kept (N_EXCHANGES)", NULL, 1, DB_MAX_EXCHANGES, 1},
    {.name = NULL},
};

/* Exchanges before the measurement, so that it contains no connection setup (Hunold 2015, Alg. 3, line 3). The number
 * is chosen by hand. */
#define WARM_UP 5

/* Order of qsort: by value. */
static int compare_values(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Mean without outliers, which are more than 1.5 interquartile ranges beyond the quartiles (Tukey's fences). */
static double robust_mean(int64_t *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_values);
    int quarter = count / 4;
    double first = (double)values[quarter];
    double third = (double)values[count - 1 - quarter];
    double fence = 1.5 * (third - first);
    double sum = 0.0;
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        double value = (double)values[i];
        if (value < first - fence || value > third + fence)
            continue;
        sum += value;
        ++kept;
    }
    return sum / kept;
}

/* Sets `mean_rtt_ns` to the mean of `count` round trips, without outliers, after a warm-up. */
static int measure_mean_rtt(const struct db_asker *asker, struct db_series *series, int count, double *mean_rtt_ns) {
    int64_t round_trips[DB_MAX_EXCHANGES];
    struct db_exchange exchange;
    for (int i = 0; i < WARM_UP; ++i)
        DB_TRY(db_series_ask(series, asker, &exchange));
    for (int i = 0; i < count; ++i) {
        DB_TRY(db_series_ask(series, asker, &exchange));
        round_trips[i] = db_round_trip(&exchange);
    }
    *mean_rtt_ns = robust_mean(round_trips, count);
    return MPI_SUCCESS;
}

/* Compares the offsets of two exchanges, without the correction by half the mean round trip, for qsort. */
static int compare_uncorrected(const void *a, const void *b) {
    const struct db_exchange *x = a;
    const struct db_exchange *y = b;
    int64_t difference = (x->remote - x->received) - (y->remote - y->received);
    return (difference > 0) - (difference < 0);
}

static int measure(const struct db_node *self, const struct db_asker *asker, struct db_pair *pair,
                   struct db_offset *offset) {
    struct db_exchange exchanges[DB_MAX_EXCHANGES];
    int count = db_integer(self, EXCHANGES);
    struct db_series series = {0};
    if (pair->mean_rtt_ns == 0.0)
        DB_TRY(measure_mean_rtt(asker, &series, db_integer(self, RTT), &pair->mean_rtt_ns));
    for (int i = 0; i < count; ++i)
        DB_TRY(db_series_ask(&series, asker, &exchanges[i]));

    qsort(exchanges, (size_t)count, sizeof *exchanges, compare_uncorrected);
    const struct db_exchange *median = &exchanges[count / 2];
    *offset = db_series_conclude(&series, median->received,
                                 (double)(median->remote - median->received) + pair->mean_rtt_ns / 2.0);
    return MPI_SUCCESS;
}

const struct db_offset_type db_offset_mean_rtt = {
    .component = {DB_DESCRIBED("mean_rtt", "median answer, corrected by half the mean round trip (without outliers)",
                               "Jones, Koenig 2012; Hunold 2015, Alg. 3 and 4", parameters)},
    .measure = measure};
