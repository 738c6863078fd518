/* Opening and closing of local clocks (clock.h), their registry, and pairs of readings. */
#include "clock/clock.h"

#include <stdlib.h>
#include <string.h>

#ifdef DB_SIMULATED
/* No other clock, because it would advance while other processes are simulated. */
const void *const db_clock_types[] = {&db_clock_simulated, NULL};
static const struct db_clock_type *const first_choice = &db_clock_simulated;
static const struct db_clock_type *const second_choice = &db_clock_simulated;
#else
const void *const db_clock_types[] = {
    &db_clock_tsc, &db_clock_monotonic_raw, &db_clock_monotonic, &db_clock_realtime, &db_clock_wtime, NULL,
};
static const struct db_clock_type *const first_choice = &db_clock_tsc;
static const struct db_clock_type *const second_choice = &db_clock_monotonic_raw;
#endif

/* Measurement of a clock's resolution: the smallest of RESOLUTION_STEPS steps within RESOLUTION_READINGS readings, some
 * 0.25 ms. Several readings may be equal, since MPI_Wtime of MPICH steps by 238 ns. A clock without a step in that time
 * gets a resolution of 0. Chosen by hand; half and twice the values are not measured. */
#define RESOLUTION_STEPS 8
#define RESOLUTION_READINGS 10000
/* Number of pairs of readings in db_clock_read_pair, which returns the narrowest pair; they take some 4 us. Chosen by
 * hand; half and twice the value are not measured. */
#define PAIRS 64

/* Returns the smallest step between two readings, ns; 0 if the clock made no step. */
static double measure_resolution_ns(const struct db_clock *clock) {
    int64_t smallest_step = INT64_MAX;
    int64_t last = db_clock_read(clock);
    for (int reading = 0, steps = 0; reading < RESOLUTION_READINGS && steps < RESOLUTION_STEPS; ++reading) {
        int64_t now = db_clock_read(clock);
        if (now > last) {
            ++steps;
            if (now - last < smallest_step)
                smallest_step = now - last;
        }
        last = now;
    }
    return smallest_step == INT64_MAX ? 0.0 : (double)smallest_step * clock->ns_per_tick;
}

int db_clock_open(struct db_clock *clock, const struct db_clock_type *type) {
    memset(clock, 0, sizeof *clock);
    if (type == NULL) {
        if (db_clock_open(clock, first_choice) == 0)
            return 0;
        type = second_choice;
    }
    clock->type = type;
    clock->ns_per_tick = 1.0;
    if (type->open(clock) != 0)
        return -1;
    clock->resolution_ns = measure_resolution_ns(clock);
    return 0;
}

void db_clock_close(struct db_clock *clock) {
    if (clock->type != NULL && clock->type->close != NULL)
        clock->type->close(clock);
    memset(clock, 0, sizeof *clock);
}

struct db_clock_pair db_clock_read_pair(const struct db_clock *outer, const struct db_clock *inner) {
    struct db_clock_pair best = {.width = INT64_MAX};
    for (int i = 0; i < PAIRS; ++i) {
        int64_t before = db_clock_read(outer);
        int64_t reading = db_clock_read(inner);
        int64_t width = db_clock_read(outer) - before;
        if (width < best.width)
            best = (struct db_clock_pair){.outer = before + width / 2, .inner = reading, .width = width};
    }
    return best;
}
