/* Local clocks: how to open and read them, and how to wait for an instant on them. Each type of clock is a file
 * clock_<name>.c; callers use db_clock_open, db_clock_read and db_wait_until (wait.h).
 *
 * A clock counts int64_t ticks. The length of a hardware counter's tick is estimated, and the estimate improves with
 * time (refine). Therefore ticks are converted to nanoseconds as late as possible, by a clock map (clock_map.h):
 * processes that read the same counter share one map, so differences of their calibrations do not become clock offsets.
 */
#ifndef DOWNBEAT_CLOCK_H
#define DOWNBEAT_CLOCK_H

#include "base/component.h"

#include <stdint.h>

#define DB_IDENTITY_SIZE 128

struct db_clock;

/* A type of clock, e.g. tsc. */
struct db_clock_type {
    struct db_component component;
    /* Sets ns_per_tick, identity and the clock's member of `data`. Returns 0, or -1 if this machine lacks the clock. */
    int (*open)(struct db_clock *clock);
    /* Returns the current reading, ticks. */
    int64_t (*read)(const struct db_clock *clock);
    /* 1 if the clock is the true time of a simulation, the same for all processes, although each simulated host has its
     * own identity. */
    int global;
    /* Spins, or in a simulation sleeps, until the clock shows at least `ticks`; returns the reading that ended the
     * wait. */
    int64_t (*wait_until)(const struct db_clock *clock, int64_t ticks);
    /* Recalibrates ns_per_tick over the time since open; NULL if a tick is a nanosecond by definition. */
    void (*refine)(struct db_clock *clock);
    /* Frees the clock's memory; NULL if it has none. */
    void (*close)(struct db_clock *clock);
};

/* An open clock of a process. */
struct db_clock {
    const struct db_clock_type *type;
    double ns_per_tick; /* estimated length of a tick */
    /* Bound of the relative error of ns_per_tick; 0 if a tick is a nanosecond by definition. */
    double rate_error;
    /* Largest lag of a reading behind the time: the smallest step between two readings, which is at most the cost of a
     * reading. */
    double resolution_ns;
    /* 1 if its time is simulated; then sleeping in the kernel does not advance it. */
    int simulated;
    /* 1 if the clock may show the same time on all nodes (e.g. realtime with PTP): the reading plus absolute_ns, ns. */
    int absolute;
    int64_t absolute_ns;
    /* Text of source, host and time namespace: two processes with the same identity may be reading the same clock.
     * Empty: unknown; the clock is then never treated as shared. */
    char identity[DB_IDENTITY_SIZE];
    /* Number of the clock domain (start/domain.h): equal for processes that are verified to read the same clock; 0: not
     * verified yet. */
    int64_t domain;
    union {
        struct {
            int64_t anchor_ticks; /* reading of this clock when it was opened */
            int64_t anchor_ns;    /* reading of the reference clock at the same time */
            int64_t anchor_width; /* ticks from before to after the reading of the reference clock */
            int64_t baseline_ns;  /* time from opening to the last calibration */
        } counter;
        double wtime_origin; /* MPI_Wtime of reading 0, s */
        struct {
            struct db_validation_clock *state; /* freed by db_clock_close */
        } validation;
    } data;
};

extern const struct db_clock_type db_clock_tsc;
extern const struct db_clock_type db_clock_monotonic;
extern const struct db_clock_type db_clock_monotonic_raw;
extern const struct db_clock_type db_clock_realtime;
extern const struct db_clock_type db_clock_wtime;
extern const struct db_clock_type db_clock_simulated; /* only in a build for a simulator */

/* Registry (registry.h) of the clocks that the setting `clock` can name. */
extern const void *const db_clock_types[];

/* Opens the clock `type`; NULL: the default, which is tsc if it is invariant, else monotonic_raw, and simulated in a
 * simulation. Returns 0, or -1 if this machine lacks the clock. */
int db_clock_open(struct db_clock *clock, const struct db_clock_type *type);

/* Frees the clock's memory. A zeroed clock may be closed. */
void db_clock_close(struct db_clock *clock);

static inline int64_t db_clock_read(const struct db_clock *clock) { return clock->type->read(clock); }

/* Readings of two clocks at the same instant: the inner clock was read between two readings of the outer one. */
struct db_clock_pair {
    int64_t outer; /* midpoint of the two readings of the outer clock */
    int64_t inner; /* reading of the inner clock */
    int64_t width; /* ticks between the two readings of the outer clock */
};

/* Takes many pairs of readings and returns the narrowest, because the first readings are slow and any may be
 * interrupted. */
struct db_clock_pair db_clock_read_pair(const struct db_clock *outer, const struct db_clock *inner);

/* Sets `identity` to the identity of the clock `source` of this booted kernel and, if `namespaced` is 1, of this time
 * namespace. Empty if the system does not provide it. */
void db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced);

#endif
