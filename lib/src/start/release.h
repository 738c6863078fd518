/* The release: the wait for a deadline or for another time of the global clock, and the flag. */
#ifndef DOWNBEAT_RELEASE_H
#define DOWNBEAT_RELEASE_H

#include "start/protocol.h"
#include "start/state.h"

/* Readings of the local clock: the deadline, and the last one at which a process is in time. */
struct db_release {
    int64_t ticks;
    int64_t latest;
};

static inline struct db_release db_release_at(const struct db_state *state, int64_t global_ns) {
    return (struct db_release){.ticks = db_map_ticks(&state->clocks.map, global_ns),
                               .latest = db_map_ticks(&state->clocks.map, global_ns + state->thresholds.tolerance_ns)};
}

/* Waits, from the reading `ready`, until `release->ticks`. Sets `flag`, and `left` and `invalid` of `call`. Returns 1
 * if the process left in time. `caller`: code that runs after the return, to be prefetched. */
int db_release_wait(const struct db_state *state, int64_t ready, const struct db_release *release,
                    const struct db_verdict *verdict, const void *caller, struct db_call *call, int *flag);

#endif
