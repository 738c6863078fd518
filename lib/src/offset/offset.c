/* The registry of estimators, and the limits and sums that all estimators share (offset.h). */
#include "offset/offset.h"

#include "base/error.h"

const void *const db_offset_types[] = {
    &db_offset_skampi, &db_offset_netgauge, &db_offset_mean_rtt, &db_offset_cristian, &db_offset_best_rtt, NULL,
};

int db_offset_measure(const struct db_node *chosen, const struct db_asker *asker, struct db_pair *pair,
                      struct db_offset *offset) {
    const struct db_offset_type *type = (const struct db_offset_type *)chosen->component;
    return type->measure(chosen, asker, pair, offset);
}

/* With absolute values, because after drift during the exchanges the lower limit may exceed the upper one, or the
 * estimate may be outside the limits. */
double db_offset_bound(const struct db_offset *offset) {
    return fmax(fabs(offset->offset_ns - offset->lower_ns), fabs(offset->upper_ns - offset->offset_ns));
}

int db_series_ask(struct db_series *series, const struct db_asker *asker, struct db_exchange *exchange) {
    DB_TRY(db_exchange_ask(asker, exchange));
    int64_t lower = exchange->remote - exchange->received;
    int64_t upper = exchange->remote - exchange->sent;
    int64_t round_trip = db_round_trip(exchange);
    if (series->count == 0) {
        series->first_sent = exchange->sent;
        series->base = lower;
        series->lower = lower;
        series->upper = upper;
        series->shortest_ns = round_trip;
    }
    if (lower > series->lower)
        series->lower = lower;
    if (upper < series->upper)
        series->upper = upper;
    if (round_trip < series->shortest_ns)
        series->shortest_ns = round_trip;
    double offset = (double)(lower - series->base) + (double)round_trip / 2.0;
    series->sum += offset;
    series->sum_of_squares += offset * offset;
    series->last_received = exchange->received;
    ++series->count;
    return MPI_SUCCESS;
}

struct db_offset db_series_conclude(const struct db_series *series, int64_t at, double offset_ns) {
    double mean = series->sum / series->count;
    double variance = fmax(0.0, series->sum_of_squares - series->sum * mean) / fmax(1.0, series->count - 1);
    return (struct db_offset){.at = at,
                              .offset_ns = offset_ns,
                              .lower_ns = (double)series->lower,
                              .upper_ns = (double)series->upper,
                              .duration_ns = (double)(series->last_received - series->first_sent),
                              .deviation_ns = sqrt(variance),
                              .rtt_ns = (double)series->shortest_ns,
                              .exchanges = series->count};
}
