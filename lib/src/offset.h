/* Estimators of the offset between two clocks from exchanges of timestamps. */
#ifndef DOWNBEAT_OFFSET_H
#define DOWNBEAT_OFFSET_H

#include "exchange.h"

/* What is known of a pair of processes from earlier synchronizations. A zeroed one knows nothing. */
struct db_pair {
    int64_t best_rtt_ns; /* smallest round trip to be expected, 0 before the first */
};

/* The offset of the peer's clock against the asker's: peer = asker + offset, at the asker's time `at`. */
struct db_offset {
    int64_t at;
    double offset_ns;
    double bound_ns;      /* of the error of offset_ns; hard, but for drift during the exchanges */
    double duration_ns;   /* from the first to the last exchange */
    double peer_bound_ns; /* what the peer says of its own clock, after the last exchange */
};

struct db_offset_type {
    const char *name;
    /* Measures the offset and tells the peer to stop. */
    int (*measure)(const struct db_asker *asker, struct db_pair *pair, struct db_offset *offset);
};

extern const struct db_offset_type db_offset_skampi;

/* Registry (registry.h); the first is the default. */
extern const void *const db_offset_types[];

#endif
