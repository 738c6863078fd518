/* The kernel's clocks: monotonic (steered by NTP), monotonic_raw (never steered), realtime (steered and stepped). */
#define _GNU_SOURCE
#include "clock/clock.h"

#include <time.h>

static int64_t now(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Spins until the clock shows `ticks`. Ends early if the clock is set back, perhaps by hours; the returned reading is
 * then less than `ticks`. */
static int64_t spin(clockid_t id, int64_t ticks) {
    int64_t reading = INT64_MIN;
    int64_t before;
    do {
        before = reading;
        reading = now(id);
    } while (reading < ticks && reading >= before);
    return reading;
}

/* Defines the functions of a clock. Each clock has its own functions, so that clock_gettime gets a constant identifier.
 * NAMESPACED and ABSOLUTE: see db_clock_identify and db_clock.absolute. */
#define POSIX_CLOCK(NAME, ID, NAMESPACED, ABSOLUTE, SUMMARY)                                                           \
    static int NAME##_open(struct db_clock *clock) {                                                                   \
        clock->absolute = ABSOLUTE;                                                                                    \
        db_clock_identify(clock->identity, #NAME, NAMESPACED);                                                         \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static int64_t NAME##_read(const struct db_clock *clock) {                                                         \
        (void)clock;                                                                                                   \
        return now(ID);                                                                                                \
    }                                                                                                                  \
    static int64_t NAME##_wait_until(const struct db_clock *clock, int64_t ticks) {                                    \
        (void)clock;                                                                                                   \
        return spin(ID, ticks);                                                                                        \
    }                                                                                                                  \
    const struct db_clock_type db_clock_##NAME = {.component = {DB_DESCRIBED(#NAME, SUMMARY, "", DB_NO_PARAMETERS)},   \
                                                  .open = NAME##_open,                                                 \
                                                  .read = NAME##_read,                                                 \
                                                  .wait_until = NAME##_wait_until}

POSIX_CLOCK(monotonic, CLOCK_MONOTONIC, 1, 0, "CLOCK_MONOTONIC; NTP steers its rate");
POSIX_CLOCK(monotonic_raw, CLOCK_MONOTONIC_RAW, 1, 0, "CLOCK_MONOTONIC_RAW; never steered");
POSIX_CLOCK(realtime, CLOCK_REALTIME, 0, 1, "CLOCK_REALTIME; NTP steers and steps it");
