/* The wait for the deadline and the flag (release.h). The code after the deadline is short and runs once before it,
 * since each instruction there delays the start. */
#include "start/release.h"

#include "clock/wait.h"

#include <math.h>
#include <stddef.h>

/* If other programs share the caches, the exit path is cold after a long wait and costs up to 1 us. So it is run once
 * shortly before the deadline, to warm the caches. It begins WARM_UP_NS before the deadline, or later if less time
 * remains, but not later than MIN_WARM_UP_NS. Measured beside programs that fill the caches: the path took 0.2 us in
 * the median and 0.7 us in 5 % of the starts. Half and twice the values are not measured. Depends on the machine. */
#define WARM_UP_NS 3000.0
#define MIN_WARM_UP_NS 1000.0

/* Returns the reading at which the exit path runs for the first time, to warm the caches; 0 if too little time remains.
 */
static int64_t warm_up_ticks(const struct db_clock *clock, const struct db_release *release, int64_t ready) {
    double remaining_ns = (double)(release->ticks - ready) * clock->ns_per_tick;
    if (clock->simulated || remaining_ns < MIN_WARM_UP_NS)
        return 0;
    return release->ticks - (int64_t)(fmin(remaining_ns, WARM_UP_NS) / clock->ns_per_tick);
}

/* Prefetches four cache lines of the code that runs after the return, and four of the stack from address `frame` up,
 * where the frames of the callers are. */
static void prefetch(const char *code, const char *frame) {
    for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(code + (ptrdiff_t)64 * i);
        __builtin_prefetch(frame + (ptrdiff_t)64 * i);
    }
}

/* Between the last reading and the return, this function does as little as possible and uses no memory that the warm-up
 * has not used, because a delay after the last reading (e.g. a preemption) is not detected. The loop runs twice: until
 * the warm-up, and until the deadline. */
int db_release_wait(const struct db_state *state, int64_t ready, const struct db_release *release,
                    const struct db_verdict *verdict, const void *caller, struct db_call *call, int *flag) {
    const struct db_verdict local_verdict = *verdict;
    int64_t warm_up = warm_up_ticks(&state->clocks.clock, release, ready);
    int64_t until = warm_up != 0 ? warm_up : release->ticks;
    for (int64_t now = ready;;) {
        int64_t reading = db_wait_until(&state->clocks.clock, now, until, state->waiting.patience);
        /* A reading before `ticks` means that the clock was set back. */
        int in_time = reading <= release->latest && reading >= release->ticks;
        *flag = db_flag(&local_verdict, in_time);
        call->exit_ticks = reading;
        call->invalid = !*flag;
        if (until == release->ticks || reading < until) /* second: the clock was set back, so do not wait again */
            return in_time;
        until = release->ticks;
        now = reading;
        prefetch(caller, __builtin_frame_address(0));
    }
}
