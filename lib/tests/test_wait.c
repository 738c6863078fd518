/* How a wait leaves the processor: it sleeps for most of a long time, yields for the rest where processes share
 * processors, and spins at the end, on a clock that passes by what it is asked to. */
#include "check.h"
#include "clock/wait.h"

#include <sched.h>

static int64_t now; /* half nanoseconds */
static double slept_ns;
static int sleeps;
static int yields;
static double spun_from_ns; /* what was left when the spinning began */

/* The linker leads to these (CMakeLists.txt). */
int __wrap_nanosleep(const struct timespec *asked, struct timespec *left); /* NOLINT: the linker's names */
int __wrap_sched_yield(void);                                              /* NOLINT */

int __wrap_nanosleep(const struct timespec *asked, struct timespec *left) { /* NOLINT */
    CHECK(left == NULL);
    CHECK(asked->tv_nsec >= 0 && asked->tv_nsec < 1000000000);
    ++sleeps;
    slept_ns += (double)asked->tv_sec * 1e9 + (double)asked->tv_nsec;
    now += 2 * ((int64_t)asked->tv_sec * 1000000000 + asked->tv_nsec);
    return 0;
}

int __wrap_sched_yield(void) { /* NOLINT */
    ++yields;
    now += 2 * 500;
    return 0;
}

static int64_t read_now(const struct db_clock *clock) {
    (void)clock;
    return now;
}

static int64_t spin(const struct db_clock *clock, int64_t ticks) {
    spun_from_ns = (double)(ticks - now) * clock->ns_per_tick;
    now = ticks > now ? ticks : now;
    return now;
}

static const struct db_clock_type type = {.read = read_now, .wait_until = spin};
static const struct db_clock clock_of_the_test = {.type = &type, .ns_per_tick = 0.5};

static void wait_for(double ns, enum db_patience patience) {
    slept_ns = 0.0;
    sleeps = 0;
    yields = 0;
    now = 1000;
    int64_t end = now + (int64_t)(2.0 * ns);
    CHECK_THAT(db_wait_until(&clock_of_the_test, db_clock_read(&clock_of_the_test), end, patience), ==, end);
}

int main(void) {
    wait_for(3.25e9, DB_YIELD);
    CHECK_THAT(sleeps, ==, 1);
    CHECK_THAT(slept_ns, ==, 3.25e9 - 100e3); /* the kernel may wake it late by that much */
    CHECK_THAT(yields, ==, 190);
    CHECK_THAT(spun_from_ns, ==, 5e3);
    wait_for(100e3, DB_YIELD); /* too short for a sleep */
    CHECK_THAT(sleeps, ==, 0);
    CHECK_THAT(yields, ==, 190);
    wait_for(5e3, DB_YIELD);
    CHECK_THAT(yields, ==, 0);
    CHECK_THAT(spun_from_ns, ==, 5e3);
    wait_for(3.25e9, DB_BLOCK);
    CHECK_THAT(sleeps, ==, 1);
    CHECK_THAT(yields, ==, 0);
    CHECK_THAT(spun_from_ns, ==, 500e3); /* early enough to be given the processor */
    wait_for(1e6, DB_SLEEP);             /* no longer than a time slice */
    CHECK_THAT(sleeps + yields, ==, 0);
    CHECK_THAT(spun_from_ns, ==, 1e6);
    return 0;
}
