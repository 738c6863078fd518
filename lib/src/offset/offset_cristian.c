/* The estimator cristian: Cristian's method (Niethammer 2016, section III.A): a second reading t2 directly after t1
 * gives the timer delay Delta = t2 - t1 (Eq. 3), which is subtracted from the ping-pong latency, lambda = t1 - t0 -
 * Delta. The remote reading is assumed to be in the middle of the exchange, offset = t' - t0 - (lambda + Delta) / 2
 * (Eq. 2). The result is the mean over all exchanges. */
#include "offset/offset.h"

#include "base/error.h"

enum { EXCHANGES }; /* index of the parameter */

static const Downbeat_parameter parameters[] = {
    {"exchanges", "100", "exchanges to take the mean and the deviation of", NULL, 1, 1e6, 1},
    {.name = NULL},
};

static int measure(const struct db_node *self, const struct db_asker *asker, struct db_pair *pair,
                   struct db_offset *offset) {
    (void)pair;
    int count = db_integer(self, EXCHANGES);
    double shortest_latency = INFINITY;
    double sum = 0.0;
    int64_t base = 0;
    struct db_series series = {0};
    for (int i = 0; i < count; ++i) {
        struct db_exchange exchange;
        DB_TRY(db_series_ask(&series, asker, &exchange));
        double delay = (double)(db_timeline_now(&asker->timeline) - exchange.received);
        double latency = (double)db_round_trip(&exchange) - delay;
        if (i == 0)
            base = exchange.remote - exchange.sent;
        sum += (double)(exchange.remote - exchange.sent - base) - (latency + delay) / 2.0;
        shortest_latency = fmin(shortest_latency, latency);
    }
    int64_t middle = series.first_sent + (series.last_received - series.first_sent) / 2;
    *offset = db_series_conclude(&series, middle, (double)base + sum / count);
    offset->rtt_ns = shortest_latency;
    return MPI_SUCCESS;
}

const struct db_offset_type db_offset_cristian = {
    .component = {DB_DESCRIBED("cristian",
                               "mean midpoint of all exchanges; the timer's delay is subtracted from the latency",
                               "Cristian 1989; Niethammer 2016, section III.A, Eq. 2 and 3", parameters)},
    .measure = measure};
