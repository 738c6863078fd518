/* Exchanges of timestamps between two processes: one asks, the other answers with its clock until the asker stops it.
 * The asking side alone decides how many exchanges it wants, so the answering side serves every offset estimator and
 * every drift model. */
#ifndef DOWNBEAT_EXCHANGE_H
#define DOWNBEAT_EXCHANGE_H

#include "base/message.h"
#include "clock/clock.h"
#include "clock/clock_map.h"

/* A clock seen through a map. */
struct db_timeline {
    const struct db_clock *clock;
    const struct db_clock_map *map;
};

static inline int64_t db_timeline_now(const struct db_timeline *timeline) {
    return db_map_global_ns(timeline->map, db_clock_read(timeline->clock));
}

/* The asking end of a connection. */
struct db_asker {
    const struct db_channel *channel;
    int peer;
    struct db_timeline timeline;
};

/* One exchange. The peer's clock showed `remote` at some instant between `sent` and `received` on the asker's. */
struct db_exchange {
    int64_t sent;
    int64_t remote;
    int64_t received;
};

/* Largest distance of a timeline from the one that it follows, its growth per ns and the growth of that, and the
 * distance to be expected. */
struct db_standing {
    double bound_ns;
    double growth;
    double ramp;
    struct db_uncertainty uncertainty;
};

/* Waits until the peer is ready to answer. Without it the first exchange of a pair would contain all the time for which
 * the peer is busy with others, and estimators that take a mean would keep it. */
int db_exchange_begin(const struct db_asker *asker);

/* Asks once. Times on the timeline of either side. */
int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange);

/* Ends the exchanges. The peer reports its own error here and not with each answer, because computation between
 * timestamp and answer would lengthen the one-way delay back. */
int db_exchange_stop(const struct db_asker *asker, struct db_standing *standing);

/* Answers `peer` until it stops. */
int db_exchange_serve(const struct db_channel *channel, int peer, const struct db_timeline *timeline);

#endif
