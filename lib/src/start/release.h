/* The release: the wait for a deadline, or for another time of the global clock, and the flag of the call. */
#ifndef DOWNBEAT_RELEASE_H
#define DOWNBEAT_RELEASE_H

#include "start/protocol.h"
#include "start/state.h"

/* Readings of the local clock. */
struct db_release {
    int64_t ticks;  /* deadline plus delay */
    int64_t latest; /* last reading at which a process leaves in time: `ticks` plus the tolerance */
};

/* The release at a time of the global clock. */
static inline struct db_release db_release_at(const struct db_state *state, int64_t global_ns) {
    return (struct db_release){.ticks = db_map_ticks(&state->clocks.map, global_ns),
                               .latest = db_map_ticks(&state->clocks.map, global_ns + state->thresholds.tolerance_ns)};
}

/* Waits, from the reading `ready`, until `release->ticks`. Sets `flag`, call->exit_ticks and call->invalid. Returns 1
 * if the process left in time. `caller` is the address of the code that runs after the return, for prefetching. */
int db_release_wait(const struct db_state *state, int64_t ready, const struct db_release *release,
                    const struct db_verdict *verdict, const void *caller, struct db_call *call, int *flag);

#endif
