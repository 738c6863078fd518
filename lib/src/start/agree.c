#include "start/agree.h"

int db_gather_reports(const struct db_channel *channel, const struct db_report *mine, struct db_report *all) {
    enum { WORDS = sizeof *mine / sizeof(int64_t) };
    return db_reduce_max(channel, (const int64_t *)mine, (int64_t *)all, WORDS);
}

int db_spread_decision(const struct db_channel *channel, struct db_decision *decision) {
    enum { WORDS = sizeof *decision / sizeof(int64_t) };
    return db_broadcast(channel, (int64_t *)decision, WORDS);
}
