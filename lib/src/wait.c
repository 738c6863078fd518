#define _POSIX_C_SOURCE 200809L
#include "wait.h"

#include <math.h>
#include <sched.h>
#include <time.h>

/* A sleep ends late by the kernel's timer slack (50 us unless changed) and a wake-up. */
#define SLEEP_MARGIN_NS 100000.0
/* A yield may give a time slice away: the last stretch is spun. */
#define YIELD_MARGIN_NS 5000.0

/* Returns whether it is nearly time; if not, the clock was set back. */
static int leave_processor_until(const struct db_clock *clock, int64_t ticks) {
    double before_ns = INFINITY;
    for (;;) {
        double remaining_ns = (double)(ticks - db_clock_read(clock)) * clock->ns_per_tick;
        if (remaining_ns > before_ns)
            return 0;
        before_ns = remaining_ns;
        if (remaining_ns > SLEEP_MARGIN_NS) {
            double sleep_ns = remaining_ns - SLEEP_MARGIN_NS;
            struct timespec time = {.tv_sec = (time_t)(sleep_ns / 1e9)};
            time.tv_nsec = (long)(sleep_ns - (double)time.tv_sec * 1e9);
            nanosleep(&time, NULL);
        } else if (remaining_ns > YIELD_MARGIN_NS) {
            sched_yield();
        } else {
            return 1;
        }
    }
}

int64_t db_wait_until(const struct db_clock *clock, int64_t ticks, int patient) {
    if (patient && !leave_processor_until(clock, ticks))
        return db_clock_read(clock);
    return clock->type->wait_until(clock, ticks);
}
