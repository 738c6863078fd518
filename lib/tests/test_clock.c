/* Local clocks, without MPI but for MPI_Wtime. */
#include "base/registry.h"
#include "check.h"
#include "clock/clock.h"
#include "clock/wait.h"

#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The kernel's realtime clock is set back by this after `readings_left` more readings; negative: never. */
static const time_t set_back_seconds = 30;
static int readings_left = -1;

int __real_clock_gettime(clockid_t id, struct timespec *time); /* NOLINT: the linker's names */
int __wrap_clock_gettime(clockid_t id, struct timespec *time); /* NOLINT */

int __wrap_clock_gettime(clockid_t id, struct timespec *time) { /* NOLINT */
    int code = __real_clock_gettime(id, time);
    if (id == CLOCK_REALTIME && readings_left >= 0 && (readings_left == 0 || readings_left-- == 0))
        time->tv_sec -= set_back_seconds;
    return code;
}

/* A wait ends then, and the reading shows the caller that it is too early: a spin from its second reading on, a wait
 * from its second check, after a sleep. */
static void set_back(enum db_patience patience) {
    struct db_clock clock;
    CHECK(db_clock_open(&clock, &db_clock_realtime) == 0);
    for (int spins = 0; spins < 2; ++spins)
        for (int readings = 1; readings < (spins ? 6 : 2); ++readings) {
            int64_t begin = db_clock_read(&clock);
            int64_t end = begin + 200000000;
            readings_left = readings;
            CHECK_THAT(spins ? clock.type->wait_until(&clock, end)
                             : db_wait_until(&clock, db_clock_read(&clock), end, patience),
                       <, end);
            readings_left = -1;
            CHECK_THAT(db_clock_read(&clock), <, begin + 10000000000);
        }
    CHECK_THAT(db_wait_until(&clock, db_clock_read(&clock), db_clock_read(&clock) + 1000000, patience), <, INT64_MAX);
    db_clock_close(&clock);
}

static void rises_and_waits(const struct db_clock_type *type) {
    struct db_clock clock;
    if (db_clock_open(&clock, type) != 0) {
        CHECK(type == &db_clock_tsc); /* the only one that a machine may lack */
        return;
    }
    int64_t last = db_clock_read(&clock);
    for (int i = 0; i < 1000; ++i) {
        int64_t now = db_clock_read(&clock);
        CHECK(now >= last);
        last = now;
    }
    for (int i = 0; i < 20; ++i) {
        int64_t target = db_clock_read(&clock) + (int64_t)(20000 / clock.ns_per_tick);
        CHECK(clock.type->wait_until(&clock, target) >= target);
    }
    db_clock_close(&clock);
}

/* How much faster than the kernel's clock the TSC runs over 0.1 s. */
static double tsc_skew(const struct db_clock *tsc, const struct db_clock *kernel) {
    int64_t begin = db_clock_read(kernel);
    int64_t ticks = db_clock_read(tsc);
    pause_for(0.1);
    double tsc_ns = (double)(db_clock_read(tsc) - ticks) * tsc->ns_per_tick;
    return tsc_ns / (double)(db_clock_read(kernel) - begin) - 1.0;
}

/* A second on the TSC is a second of the kernel's. After a sleep the first reading takes microseconds. */
static void tsc_is_calibrated(void) {
    struct db_clock tsc;
    struct db_clock kernel;
    if (db_clock_open(&tsc, &db_clock_tsc) != 0)
        return;
    CHECK(db_clock_open(&kernel, &db_clock_monotonic_raw) == 0);
    double skew = 1.0;
    for (int attempt = 0; attempt < 20 && fabs(skew) >= 1e-3; ++attempt)
        skew = tsc_skew(&tsc, &kernel);
    CHECK_THAT(fabs(skew), <, 1e-3);
}

/* Time since the TSC was opened, ns. */
static int64_t age(const struct db_clock *tsc, const struct db_clock *kernel) {
    return db_clock_read(kernel) - tsc->data.counter.anchor_ns;
}

/* The rate gets better with the baseline that it was measured over, and was never worse than it said. */
static void tsc_is_refined(void) {
    struct db_clock clock;
    struct db_clock kernel;
    if (db_clock_open(&clock, &db_clock_tsc) != 0)
        return;
    CHECK(db_clock_open(&kernel, &db_clock_monotonic_raw) == 0);
    const double rate = clock.ns_per_tick;
    const double rate_error = clock.rate_error;
    int64_t baseline = clock.data.counter.baseline_ns;
    CHECK_THAT(rate_error, >, 0.0);
    while (age(&clock, &kernel) < 20 * baseline) /* however long opening it took */
        pause_for(0.05);
    clock.type->refine(&clock);
    CHECK_THAT(clock.data.counter.baseline_ns, >, 2 * baseline);
    CHECK_THAT(clock.rate_error, <, rate_error);
    CHECK_THAT(fabs(rate / clock.ns_per_tick - 1.0), <=, rate_error + clock.rate_error);
    baseline = clock.data.counter.baseline_ns;
    clock.type->refine(&clock); /* too early to be worth it */
    if (age(&clock, &kernel) <= 2 * baseline)
        CHECK_THAT(clock.data.counter.baseline_ns, ==, baseline);
}

/* Shared clocks say on which kernel they are shared; MPI_Wtime claims nothing. */
static void identities(void) {
    struct db_clock a;
    struct db_clock b;
    CHECK(db_clock_open(&a, &db_clock_monotonic) == 0 && db_clock_open(&b, &db_clock_monotonic) == 0);
    CHECK(a.identity[0] != '\0' && strcmp(a.identity, b.identity) == 0);
    CHECK(db_clock_open(&b, &db_clock_realtime) == 0);
    CHECK(strcmp(a.identity, b.identity) != 0);
    CHECK(db_clock_open(&b, &db_clock_wtime) == 0);
    CHECK(b.identity[0] == '\0');
}

/* The identity has the time namespace's link, as the kernel shows it, only if it is asked for. */
static void identity_has_the_namespace(void) {
    char space[64] = "";
    char identity[DB_IDENTITY_SIZE];
    char end[96];
    CHECK(readlink("/proc/self/ns/time", space, sizeof space - 1) > 0); /* since Linux 5.6 */
    snprintf(end, sizeof end, "/%.30s", space);
    db_clock_identify(identity, "clock", 1);
    CHECK(strlen(identity) > strlen(end) && strcmp(identity + strlen(identity) - strlen(end), end) == 0);
    db_clock_identify(identity, "clock", 0);
    CHECK(identity[strlen(identity) - 1] == '/');
}

/* Of many waits, the one that nothing disturbs ends within a few readings after the deadline. */
static void tsc_waits_end_at_the_deadline(void) {
    struct db_clock tsc;
    double least_ns = INFINITY;
    if (db_clock_open(&tsc, &db_clock_tsc) != 0)
        return;
    for (int i = 0; i < 1000; ++i) {
        int64_t target = db_clock_read(&tsc) + (int64_t)(2000 / tsc.ns_per_tick);
        least_ns = fmin(least_ns, (double)(tsc.type->wait_until(&tsc, target) - target) * tsc.ns_per_tick);
    }
    CHECK_THAT(least_ns, <, 250);
}

static void default_is_tsc_where_invariant(void) {
    struct db_clock clock;
    struct db_clock tsc;
    CHECK(db_clock_open(&clock, NULL) == 0);
    CHECK(clock.type == (db_clock_open(&tsc, &db_clock_tsc) == 0 ? &db_clock_tsc : &db_clock_monotonic_raw));
}

/* A clock that a reading takes 10 ticks of, and 1000 where it is interrupted, as three of seven are. */
static int64_t interrupted_ticks;

static int64_t interrupted_read(const struct db_clock *clock) {
    (void)clock;
    static int readings;
    int64_t ticks = interrupted_ticks;
    interrupted_ticks += readings % 7 < 3 ? 1000 : 10;
    ++readings;
    return ticks;
}

/* A clock paired with itself: both readings are one only where neither was interrupted. */
static void pairs_are_of_one_instant(void) {
    const struct db_clock_type type = {.read = interrupted_read};
    const struct db_clock clock = {.type = &type};
    struct db_clock_pair pair = db_clock_read_pair(&clock, &clock);
    CHECK_THAT(pair.width, ==, 20);
    CHECK_THAT(pair.outer, ==, pair.inner);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (const void *const *type = db_clock_types; *type != NULL; ++type)
        rises_and_waits(*type);
    set_back(DB_BLOCK);
    set_back(DB_YIELD);
    tsc_is_calibrated();
    tsc_is_refined();
    identities();
    identity_has_the_namespace();
    tsc_waits_end_at_the_deadline();
    pairs_are_of_one_instant();
    default_is_tsc_where_invariant();
    CHECK(db_registry_find(db_clock_types, "realtime") == &db_clock_realtime);
    CHECK(db_registry_find(db_clock_types, "rdtsc") == NULL);
    MPI_Finalize();
    return 0;
}
