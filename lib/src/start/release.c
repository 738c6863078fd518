#include "start/release.h"

#include "clock/wait.h"

#include <math.h>
#include <stddef.h>

/* If other programs share the caches, the exit path is cold after a long wait and costs up to 1 us. So it is run once
 * shortly before the deadline, to warm the caches. Measurement, beside programs that fill the caches: the path took 0.2
 * us in the median and 0.7 us in 5 % of the starts, so it needs at least 1 us before the deadline, and 3 us are ample.
 * Half and twice: not measured. Depends on the machine. */
#define WARM_UP_NS 3000.0
#define LEAST_WARM_UP_NS 1000.0

/* The reading at which the exit path is run for the first time; 0 if there is no time for that. */
static int64_t warm_up_ticks(const struct db_clock *clock, const struct db_release *release, int64_t ready) {
    double remaining_ns = (double)(release->ticks - ready) * clock->ns_per_tick;
    if (clock->simulated || remaining_ns < LEAST_WARM_UP_NS)
        return 0;
    return release->ticks - (int64_t)(fmin(remaining_ns, WARM_UP_NS) / clock->ns_per_tick);
}

/* Prefetches a function's code and stack frame. */
static void prefetch(const char *code, const char *frame) {
    for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(code + (ptrdiff_t)64 * i);
        __builtin_prefetch(frame + (ptrdiff_t)64 * i);
    }
}

/* From the last reading to the return, do as little as possible and touch no memory that the warm-up has not touched: a
 * delay after the last reading, such as a preemption, goes unnoticed. */
int db_release_wait(const struct db_state *state, int64_t ready, const struct db_release *release,
                    const struct db_verdict *verdict, const void *caller, struct db_call *call, int *flag) {
    const struct db_verdict local_verdict = *verdict;
    int64_t warm_up = warm_up_ticks(&state->clocks.clock, release, ready);
    int64_t until = warm_up != 0 ? warm_up : release->ticks;
    for (int64_t now = ready;;) {
        int64_t left = db_wait_until(&state->clocks.clock, now, until, state->waiting.patience);
        int in_time = left <= release->latest && left >= release->ticks; /* earlier if the clock was set back */
        *flag = db_flag(&local_verdict, in_time);
        call->left = left;
        call->invalid = !*flag;
        if (until == release->ticks || left < until) /* the clock was set back: do not wait again */
            return in_time;
        until = release->ticks;
        now = left;
        prefetch(caller, __builtin_frame_address(0));
    }
}
