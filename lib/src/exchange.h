/* Exchanges of timestamps between two processes: one asks, the other answers with its clock until it is told to stop.
 * The asking side alone decides how many exchanges it wants, so the answering side serves every offset estimator. */
#ifndef DOWNBEAT_EXCHANGE_H
#define DOWNBEAT_EXCHANGE_H

#include "clock.h"
#include "clock_map.h"
#include "message.h"

/* A clock seen through a map. */
struct db_timeline {
    const struct db_clock *clock;
    const struct db_clock_map *map;
};

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
    int64_t remote_bound; /* of the error of `remote` against the peer's own reference */
};

/* Asks once. Times on the timeline of either side. */
int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange);

/* Ends the conversation. */
int db_exchange_stop(const struct db_asker *asker);

/* Answers `peer` until it stops. */
int db_exchange_serve(const struct db_channel *channel, int peer, const struct db_timeline *timeline);

#endif
