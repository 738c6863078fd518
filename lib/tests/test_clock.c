/* Local clocks, without MPI but for MPI_Wtime. */
#include "check.h"
#include "clock.h"
#include "registry.h"

#include <mpi.h>

#include <math.h>
#include <string.h>

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

static double monotonic_raw_seconds(void) {
    struct db_clock clock;
    CHECK(db_clock_open(&clock, &db_clock_monotonic_raw) == 0);
    return (double)db_clock_read(&clock) * 1e-9;
}

/* A second on the TSC is a second of the kernel's, and better known the longer one looks. */
static void tsc_is_calibrated(void) {
    struct db_clock clock;
    if (db_clock_open(&clock, &db_clock_tsc) != 0)
        return;
    double begin = monotonic_raw_seconds();
    int64_t ticks = db_clock_read(&clock);
    pause_for(0.2);
    double tsc_seconds = (double)(db_clock_read(&clock) - ticks) * clock.ns_per_tick * 1e-9;
    double seconds = monotonic_raw_seconds() - begin;
    CHECK_THAT(fabs(tsc_seconds / seconds - 1.0), <, 2e-3);
    int64_t baseline = clock.data.counter.baseline_ns;
    clock.type->refine(&clock);
    CHECK_THAT(clock.data.counter.baseline_ns, >, 2 * baseline);
    baseline = clock.data.counter.baseline_ns;
    clock.type->refine(&clock); /* too early to be worth it */
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

static void default_is_tsc_where_invariant(void) {
    struct db_clock clock;
    struct db_clock tsc;
    CHECK(db_clock_open(&clock, NULL) == 0);
    CHECK(clock.type == (db_clock_open(&tsc, &db_clock_tsc) == 0 ? &db_clock_tsc : &db_clock_monotonic_raw));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (const void *const *type = db_clock_types; *type != NULL; ++type)
        rises_and_waits(*type);
    tsc_is_calibrated();
    identities();
    default_is_tsc_where_invariant();
    CHECK(db_registry_find(db_clock_types, "realtime") == &db_clock_realtime);
    CHECK(db_registry_find(db_clock_types, "rdtsc") == NULL);
    MPI_Finalize();
    return 0;
}
