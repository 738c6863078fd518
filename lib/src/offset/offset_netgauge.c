/* The estimator netgauge, of Netgauge and NBCBench (Hoefler 2008, section 3.1): the midpoint of the exchange with the
 * smallest round trip. Stops after N exchanges in a row without a smaller round trip. */
#include "offset/offset.h"

#include "base/error.h"

enum { STOP }; /* index of the parameter */

static const Downbeat_parameter parameters[] = {
    {"stop", "100", "stop after this many exchanges in a row without a smaller round trip (N)", NULL, 1, 1e6, 1},
    {.name = NULL},
};

static int measure(const struct db_node *self, const struct db_asker *asker, struct db_pair *pair,
                   struct db_offset *offset) {
    (void)pair;
    int stop = db_integer(self, STOP);
    struct db_series series = {0};
    struct db_exchange best;
    DB_TRY(db_series_ask(&series, asker, &best));
    for (int since_best = 0; since_best < stop; ++since_best) {
        struct db_exchange exchange;
        DB_TRY(db_series_ask(&series, asker, &exchange));
        if (db_round_trip(&exchange) < db_round_trip(&best)) {
            best = exchange;
            since_best = -1; /* 0 in the next iteration */
        }
    }
    *offset = db_series_conclude(&series, best.sent + db_round_trip(&best) / 2, db_midpoint(&best));
    return MPI_SUCCESS;
}

const struct db_offset_type db_offset_netgauge = {
    .component = {DB_DESCRIBED(
        "netgauge", "exchange with the smallest round trip; stops after a number in a row without a smaller one",
        "Hoefler 2008, section 3.1", parameters)},
    .measure = measure};
