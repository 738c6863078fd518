/* Local clocks: how to read them, and how to wait for an instant on them.
 *
 * A clock counts int64_t ticks. The length of a hardware counter's tick is known only approximately, and better as time
 * passes (refine). Therefore ticks are converted to nanoseconds as late as possible, by a clock map (clock_map.h):
 * processes that read the same counter share one map, so differences of their calibrations do not become clock offsets.
 */
#ifndef DOWNBEAT_CLOCK_H
#define DOWNBEAT_CLOCK_H

#include "base/component.h"

#include <stdint.h>

#define DB_IDENTITY_SIZE 128

struct db_clock;

struct db_clock_type {
    struct db_component component;
    /* Sets ns_per_tick, identity and the clock's member of `data`. Returns 0, or -1 if this machine lacks the clock. */
    int (*open)(struct db_clock *clock);
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

struct db_clock {
    const struct db_clock_type *type;
    double ns_per_tick;
    /* Bound of the relative error of ns_per_tick; 0 if a tick is a nanosecond by definition. */
    double rate_error;
    /* Largest lag of a reading behind the time: the smallest step between two readings, which is at most the cost of a
     * reading. */
    double resolution_ns;
    /* 1 if its time is simulated, so that sleeping in the kernel does not advance it. */
    int simulated;
    /* 1 if the clock can show the same time on all nodes; its reading plus absolute_ns is that time, ns. */
    int absolute;
    int64_t absolute_ns;
    /* Host, time namespace and source: two processes with the same identity may be reading the same clock. Empty:
     * unknown, so the clock is never shared. */
    char identity[DB_IDENTITY_SIZE];
    /* Equal for processes that are verified to read the same clock; 0: not verified yet. */
    int64_t domain;
    union {
        struct {
            int64_t anchor_ticks; /* reading of this clock when it was opened ... */
            int64_t anchor_ns;    /* ... and of the reference clock for its calibration */
            int64_t anchor_width; /* ticks from before to after the reading of the reference */
            int64_t baseline_ns;  /* length of the calibration */
        } counter;
        double wtime_origin;
        struct {
            struct db_validation_clock *state; /* owned */
        } validation;
    } data;
};

extern const struct db_clock_type db_clock_tsc;
extern const struct db_clock_type db_clock_monotonic;
extern const struct db_clock_type db_clock_monotonic_raw;
extern const struct db_clock_type db_clock_realtime;
extern const struct db_clock_type db_clock_wtime;
extern const struct db_clock_type db_clock_simulated; /* only in a build for a simulator */

/* Registry of the clocks that can be chosen by name (registry.h). */
extern const void *const db_clock_types[];

/* Opens the clock `type`; NULL: the default, which is tsc if it is invariant, else monotonic_raw, and simulated in a
 * simulation. Returns 0, or -1 if this machine lacks the clock. */
int db_clock_open(struct db_clock *clock, const struct db_clock_type *type);

/* Frees the clock's memory. A zeroed clock may be closed. */
void db_clock_close(struct db_clock *clock);

static inline int64_t db_clock_read(const struct db_clock *clock) { return clock->type->read(clock); }

/* Readings of two clocks at the same instant: the inner clock was read between two readings of the outer one. */
struct db_clock_pair {
    int64_t outer;
    int64_t inner;
    int64_t width; /* ticks between the two readings of the outer clock; `outer` is their midpoint */
};

/* The narrowest of many pairs: the first readings are slow, and any may be interrupted. */
struct db_clock_pair db_clock_read_pair(const struct db_clock *outer, const struct db_clock *inner);

/* Identity of the clock `source` of this booted kernel and, if `namespaced`, of this time namespace. Empty if the
 * system does not provide it. */
void db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced);

#endif
