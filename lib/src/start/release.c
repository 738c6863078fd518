#include "start/release.h"

#include "clock/wait.h"

#include <math.h>
#include <stddef.h>

/* After a long wait the exit path is cold, where other programs share the caches, and costs up to 1 us. It is run once,
 * shortly before the deadline, to warm them. Measurement, beside programs that fill the caches: the path took 0.2 us in
 * the median and 0.7 us in 5 % of the starts, so 1 us is the least that it needs before the deadline, and 3 us are
 * ample. Half and twice: not measured. Depends on the machine. */
#define REHEARSED_NS 3000.0
#define LEAST_REHEARSED_NS 1000.0

/* The reading at which the exit path is rehearsed; 0: there is no time for it. */
static int64_t rehearsal(const struct db_clock *clock, const struct db_release *release, int64_t ready) {
    double rest_ns = (double)(release->ticks - ready) * clock->ns_per_tick;
    if (clock->simulated || rest_ns < LEAST_REHEARSED_NS)
        return 0;
    return release->ticks - (int64_t)(fmin(rest_ns, REHEARSED_NS) / clock->ns_per_tick);
}

/* Fetches a function's code, and its frame. */
static void prefetch(const char *code, const char *frame) {
    for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(code + (ptrdiff_t)64 * i);
        __builtin_prefetch(frame + (ptrdiff_t)64 * i);
    }
}

/* Do as little as possible from the last reading to the return, and touch nothing that the rehearsal has not touched:
 * the kernel may take the processor away at any moment, and a delay after the last reading goes unnoticed. */
int db_release_wait(const struct db_state *state, int64_t ready, const struct db_release *release,
                    const struct db_verdict *verdict, const void *caller, struct db_call *call, int *flag) {
    const struct db_verdict given = *verdict;
    int64_t rehearsed = rehearsal(&state->clocks.clock, release, ready);
    int64_t until = rehearsed != 0 ? rehearsed : release->ticks;
    for (int64_t now = ready;;) {
        int64_t left = db_wait_until(&state->clocks.clock, now, until, state->waiting.patience);
        int in_time = left <= release->latest && left >= release->ticks; /* a clock may be set back meanwhile */
        *flag = db_flag(&given, in_time);
        call->left = left;
        call->invalid = !*flag;
        if (until == release->ticks || left < until) /* set back by now: it is not waited for again */
            return in_time;
        until = release->ticks;
        now = left;
        prefetch(caller, __builtin_frame_address(0));
    }
}
