#include "exchange.h"

#include "error.h"

enum { STOP = 0, ASK = 1 };

static int64_t now(const struct db_timeline *timeline) {
    return db_map_global_ns(timeline->map, db_clock_read(timeline->clock));
}

int db_exchange_ask(const struct db_asker *asker, struct db_exchange *exchange) {
    int64_t question = ASK;
    exchange->sent = now(&asker->timeline);
    DB_TRY(db_send(asker->channel, &question, 1, asker->peer));
    DB_TRY(db_receive(asker->channel, &exchange->remote, 1, asker->peer));
    exchange->received = now(&asker->timeline);
    return MPI_SUCCESS;
}

int db_exchange_stop(const struct db_asker *asker, int64_t *bound_ns) {
    int64_t question = STOP;
    DB_TRY(db_send(asker->channel, &question, 1, asker->peer));
    return db_receive(asker->channel, bound_ns, 1, asker->peer);
}

int db_exchange_serve(const struct db_channel *channel, int peer, const struct db_timeline *timeline) {
    for (;;) {
        int64_t question;
        DB_TRY(db_receive(channel, &question, 1, peer));
        if (question == STOP)
            break;
        int64_t answer = now(timeline);
        DB_TRY(db_send(channel, &answer, 1, peer));
    }
    int64_t bound_ns = (int64_t)ceil(db_map_bound_ns(timeline->map, db_clock_read(timeline->clock)));
    return db_send(channel, &bound_ns, 1, peer);
}
