/* The end of a start, or of a wait for a time of the global clock: the wait itself, and the flag. */
#ifndef DOWNBEAT_RELEASE_H
#define DOWNBEAT_RELEASE_H

#include "start/protocol.h"
#include "start/state.h"

/* Readings: when a process may leave, and the last at which it is in time. */
struct db_release {
    int64_t ticks;
    int64_t latest;
};

static inline struct db_release db_release_at(const struct db_state *state, int64_t global_ns) {
    return (struct db_release){.ticks = db_map_ticks(&state->clocks.map, global_ns),
                               .latest = db_map_ticks(&state->clocks.map, global_ns + state->thresholds.tolerance_ns)};
}

/* Waits from the reading `ready`, notes in `call` when this process left, sets the flag, and returns whether the
 * process left in time. `caller`: code that runs once this process has left. */
int db_release_wait(const struct db_state *state, int64_t ready, const struct db_release *release,
                    const struct db_verdict *verdict, const void *caller, struct db_call *call, int *flag);

#endif
