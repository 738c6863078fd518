/* The estimator best_rtt: mean midpoint of the quarter of exchanges with the smallest round trips (Hoefler 2008,
 * section 3.1, where it evaluates the measurements of section 2). */
#include "offset/offset.h"

#include "base/error.h"

#include <stdlib.h>

enum { EXCHANGES, SHARE }; /* indices of the parameters */

static const Downbeat_parameter parameters[] = {
    {"exchanges", "100", "number of exchanges", NULL, 1, DB_MAX_EXCHANGES, 1},
    {"share", "0.25", "share of the exchanges that is kept, those with the smallest round trips; at least one", NULL, 0,
     1, 0},
    {.name = NULL},
};

/* Order of qsort: by round trip. */
static int compare_round_trips(const void *a, const void *b) {
    int64_t x = db_round_trip(a);
    int64_t y = db_round_trip(b);
    return (x > y) - (x < y);
}

static int measure(const struct db_node *self, const struct db_asker *asker, struct db_pair *pair,
                   struct db_offset *offset) {
    (void)pair;
    struct db_exchange exchanges[DB_MAX_EXCHANGES];
    int count = db_integer(self, EXCHANGES);
    struct db_series series = {0};
    for (int i = 0; i < count; ++i)
        DB_TRY(db_series_ask(&series, asker, &exchanges[i]));

    qsort(exchanges, (size_t)count, sizeof *exchanges, compare_round_trips);
    int best_count = (int)fmax(1.0, db_number(self, SHARE) * count);
    double base = db_midpoint(&exchanges[0]); /* sums are relative to it, so that large offsets lose no digits */
    double offset_sum = 0.0;
    double time_sum = 0.0;
    for (int i = 0; i < best_count; ++i) {
        offset_sum += db_midpoint(&exchanges[i]) - base;
        time_sum += (double)(exchanges[i].received - series.first_sent);
    }
    *offset =
        db_series_conclude(&series, series.first_sent + llrint(time_sum / best_count), base + offset_sum / best_count);
    return MPI_SUCCESS;
}

const struct db_offset_type db_offset_best_rtt = {
    .component = {DB_DESCRIBED("best_rtt", "mean over the exchanges with the smallest round trips",
                               "Hoefler 2008, section 3.1", parameters)},
    .measure = measure};
