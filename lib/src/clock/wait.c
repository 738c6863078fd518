/* Waiting with patience (wait.h): sleeps and yields first, the last stretch in the clock's own wait_until. */
#define _POSIX_C_SOURCE 200809L
#include "clock/wait.h"

#include <math.h>
#include <sched.h>
#include <time.h>

/* Time from the end of a sleep to the deadline: Linux ends a sleep up to 50 us late (timer_slack_ns, prctl(2)), and 50
 * us more are for the wake-up. With half the value some sleeps end after the deadline; with twice, 0.1 ms more are
 * spent spinning or yielding. */
#define SLEEP_MARGIN_NS 100000.0
/* Time before the deadline from which the process spins, because a yield may give up its time slice. Chosen by hand,
 * some 10 yields; half and twice the value are not measured. */
#define YIELD_MARGIN_NS 5000.0
/* Waits longer than LONG_WAIT_NS sleep until LONG_WAIT_MARGIN_NS before the deadline: if other programs compete for the
 * processor, a longer spin may use up the time slice and end late. A sleeping process keeps its scheduling credit and
 * wakes early enough to get the processor back. Chosen by the 1 to 4 ms of a scheduler tick; make bench, rows busy_...,
 * measures the gain. Half and twice the value are not measured. */
#define LONG_WAIT_NS 1000000.0
#define LONG_WAIT_MARGIN_NS (LONG_WAIT_NS / 2.0)

static void sleep_for(double ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / 1e9)};
    time.tv_nsec = (long)(ns - (double)time.tv_sec * 1e9);
    nanosleep(&time, NULL);
}

/* Sleeps and, if `yields` is 1, yields until shortly before `ticks`. Returns 0 if the clock was set back, else 1. */
static int leave_processor_until(const struct db_clock *clock, int64_t now, int64_t ticks, int yields) {
    double max_awake_ns = yields ? SLEEP_MARGIN_NS : LONG_WAIT_NS;
    double margin_ns = yields ? SLEEP_MARGIN_NS : LONG_WAIT_MARGIN_NS;
    double previous_ns = INFINITY; /* remaining time in the previous iteration */
    for (;; now = db_clock_read(clock)) {
        double remaining_ns = (double)(ticks - now) * clock->ns_per_tick;
        if (remaining_ns > previous_ns)
            return 0;
        previous_ns = remaining_ns;
        if (remaining_ns > max_awake_ns)
            sleep_for(remaining_ns - margin_ns);
        else if (yields && remaining_ns > YIELD_MARGIN_NS)
            sched_yield();
        else
            return 1;
    }
}

int64_t db_wait_until(const struct db_clock *clock, int64_t now, int64_t ticks, enum db_patience patience) {
    if (!clock->simulated && !leave_processor_until(clock, now, ticks, patience == DB_YIELD))
        return db_clock_read(clock);
    return clock->type->wait_until(clock, ticks);
}
