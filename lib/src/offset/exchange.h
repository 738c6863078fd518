/* Exchanges of timestamps between two processes: the asker sends requests, the peer answers each with a reading of its
 * clock until the asker stops it. The asker alone decides on the number of exchanges, so the answering code serves
 * every offset estimator and every drift model. */
#ifndef DOWNBEAT_EXCHANGE_H
#define DOWNBEAT_EXCHANGE_H

#include "base/message.h"
#include "clock/clock.h"
#include "clock/clock_map.h"

/* The times of a local clock, converted by a map: local time, or the global clock. */
struct db_timeline {
    const struct db_clock *clock;
    const struct db_clock_map *map;
};

/* Current time, ns. */
static inline int64_t db_timeline_now(const struct db_timeline *timeline) {
    return db_map_global_ns(timeline->map, db_clock_read(timeline->clock));
}

/* The asking side of a pair. */
struct db_asker {
    const struct db_channel *channel;
    int peer;                    /* rank of the answering process */
    struct db_timeline timeline; /* for the asker's timestamps */
};

/* Timestamps of one exchange, ns. The peer's clock showed `remote` at an instant between `sent` and `received` on the
 * asker's clock. */
struct db_exchange {
    int64_t sent;
    int64_t remote;
    int64_t received;
};

/* Error of a timeline relative to the clock that it follows, with the members of a clock map (clock_map.h). */
struct db_timeline_error {
    double bound_ns;
    double growth;
    double ramp;
    struct db_uncertainty uncertainty;
};

/* Waits until the peer is ready to answer. Otherwise the first exchange would contain the time for which the peer still
 * serves other askers, which would bias estimators that take a mean. */
int db_exchange_begin(const struct db_asker *asker);

/* Makes one exchange; each side's times are on its own timeline. */
int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange);

/* Ends the exchanges, and gets the error of the peer's timeline. The peer reports the error here and not with each
 * answer, because computation between timestamp and answer would lengthen the one-way delay back. */
int db_exchange_stop(const struct db_asker *asker, struct db_timeline_error *error);

/* Answers `peer` until it calls db_exchange_stop. */
int db_exchange_serve(const struct db_channel *channel, int peer, const struct db_timeline *timeline);

#endif
