/* Both sides of the exchanges of timestamps (exchange.h). The asker's requests are ASK and STOP; the peer first sends
 * READY. */
#include "offset/exchange.h"

#include "base/error.h"

enum { STOP = 0, ASK = 1, READY = 2 };

int db_exchange_begin(const struct db_asker *asker) {
    int64_t ready;
    return db_receive(asker->channel, &ready, 1, asker->peer);
}

int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange) {
    int64_t request = ASK;
    exchange->sent = db_timeline_now(&asker->timeline);
    DB_TRY(db_send(asker->channel, &request, 1, asker->peer));
    DB_TRY(db_receive(asker->channel, &exchange->remote, 1, asker->peer));
    exchange->received = db_timeline_now(&asker->timeline);
    return MPI_SUCCESS;
}

#define ERROR_WORDS ((int)(sizeof(struct db_timeline_error) / sizeof(int64_t)))

int db_exchange_stop(const struct db_asker *asker, struct db_timeline_error *error) {
    int64_t request = STOP;
    DB_TRY(db_send(asker->channel, &request, 1, asker->peer));
    return db_receive(asker->channel, (int64_t *)error, ERROR_WORDS, asker->peer);
}

int db_exchange_serve(const struct db_channel *channel, int peer, const struct db_timeline *timeline) {
    int64_t ready = READY;
    DB_TRY(db_send(channel, &ready, 1, peer));
    for (;;) {
        int64_t request;
        DB_TRY(db_receive(channel, &request, 1, peer));
        if (request == STOP)
            break;
        int64_t answer = db_timeline_now(timeline);
        DB_TRY(db_send(channel, &answer, 1, peer));
    }
    const struct db_clock_map *map = timeline->map;
    int64_t ticks = db_clock_read(timeline->clock);
    const struct db_timeline_error error = {.bound_ns = db_map_bound_ns(map, ticks),
                                            .growth = map->growth + map->ramp * fabs(db_map_elapsed_ns(map, ticks)),
                                            .ramp = map->ramp,
                                            .uncertainty =
                                                db_uncertainty_after(&map->uncertainty, db_map_elapsed_ns(map, ticks))};
    return db_send(channel, (const int64_t *)&error, ERROR_WORDS, peer);
}
