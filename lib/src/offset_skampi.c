/* The interval of SKaMPI (Worsch, Reussner, Augustin 2002; Hunold 2015, section 2).
 *
 * In each exchange the peer's clock showed `remote` after the asker sent and before it received, so
 *
 *     remote - received <= offset <= remote - sent
 *
 * whatever the message latencies were. The largest lower and the smallest upper bound over all exchanges enclose the
 * offset; the estimate is the middle, and half the width a bound of its error. */
#include "offset.h"

#include "error.h"

#define MIN_EXCHANGES 10
#define MAX_EXCHANGES 100
/* Once a round trip has come this close to the best known of the pair, more exchanges would not narrow the interval
 * much. */
#define GOOD_RTT 1.1

static int measure(const struct db_asker *asker, struct db_pair *pair, struct db_offset *offset) {
    int64_t lower = INT64_MIN;
    int64_t upper = INT64_MAX;
    int64_t first_sent = 0;
    int64_t shortest_ns = INT64_MAX;
    struct db_exchange exchange;
    for (int count = 1;; ++count) {
        DB_TRY(db_exchange_ask(asker, &exchange));
        if (count == 1)
            first_sent = exchange.sent;
        if (exchange.remote - exchange.received > lower)
            lower = exchange.remote - exchange.received;
        if (exchange.remote - exchange.sent < upper)
            upper = exchange.remote - exchange.sent;

        if (exchange.received - exchange.sent < shortest_ns)
            shortest_ns = exchange.received - exchange.sent;
        if (pair->best_rtt_ns == 0 || shortest_ns < pair->best_rtt_ns)
            pair->best_rtt_ns = shortest_ns;
        /* Round trips that differ by less than the clock can tell are the same. */
        double good_ns = GOOD_RTT * (double)pair->best_rtt_ns + 2.0 * asker->timeline.clock->resolution_ns;
        if (count >= MIN_EXCHANGES && (double)shortest_ns <= good_ns)
            break;
        if (count == MAX_EXCHANGES) {
            /* The best belongs to other conditions, or was a stroke of luck: expect less of the next time. */
            pair->best_rtt_ns += (shortest_ns - pair->best_rtt_ns) / 2;
            break;
        }
    }
    int64_t peer_bound_ns;
    DB_TRY(db_exchange_stop(asker, &peer_bound_ns));

    /* Clocks that drifted during the exchanges may have left the bounds crossed by a little; the width counts all the
     * same. */
    double width = (double)(upper - lower);
    offset->at = exchange.received;
    offset->offset_ns = (double)lower + width / 2.0;
    offset->bound_ns = fabs(width) / 2.0;
    offset->duration_ns = (double)(exchange.received - first_sent);
    offset->peer_bound_ns = (double)peer_bound_ns;
    return MPI_SUCCESS;
}

const struct db_offset_type db_offset_skampi = {.name = "skampi", .measure = measure};
