/* Local clocks: reading one, and waiting until an instant on it.
 *
 * A clock counts int64_t ticks. The length of a tick in nanoseconds is known only approximately for a hardware counter,
 * and improves as time passes (refine). Therefore ticks are scaled as late as possible, by a clock map (clock_map.h):
 * processes that read the same counter share one map, so different calibrations cannot drive them apart. */
#ifndef DOWNBEAT_CLOCK_H
#define DOWNBEAT_CLOCK_H

#include "base/component.h"

#include <stdint.h>

#define DB_IDENTITY_SIZE 128

struct db_clock;

struct db_clock_type {
    struct db_component component;
    /* Fills in ns_per_tick, identity and its part of `data`. Returns 0, or -1 if this machine lacks the clock. */
    int (*open)(struct db_clock *clock);
    int64_t (*read)(const struct db_clock *clock);
    /* True time in a simulation: one for all processes, on whatever host, though each host is taken to have its own. */
    int global;
    /* Spins, or in a simulation sleeps, until the clock shows at least `ticks`; returns the reading that ended the
     * wait. */
    int64_t (*wait_until)(const struct db_clock *clock, int64_t ticks);
    /* Improves ns_per_tick by the time that has passed since open; NULL where a tick is a nanosecond by definition. */
    void (*refine)(struct db_clock *clock);
    /* Releases what the clock owns; NULL where it owns nothing. */
    void (*close)(struct db_clock *clock);
};

struct db_clock {
    const struct db_clock_type *type;
    double ns_per_tick;
    /* Bound of the relative error of ns_per_tick; 0 if a tick is a nanosecond by definition. */
    double rate_error;
    /* Largest lag of a reading: the smallest step between readings, so at most the time that reading takes. */
    double resolution_ns;
    /* 1 if its time is simulated: the kernel's sleep would take real time, in which nothing happens. */
    int simulated;
    /* 1 if the clock counts nanoseconds that can be the same on all nodes, from absolute_ns before its zero on. */
    int absolute;
    int64_t absolute_ns;
    /* Two processes whose clocks have the same identity may be reading the same one: host, time namespace, source.
     * Empty: nothing is known, the clock is never shared. */
    char identity[DB_IDENTITY_SIZE];
    /* Processes with the same number have been verified to read the same clock; 0: not yet. */
    int64_t domain;
    union {
        struct {
            int64_t anchor_ticks; /* when the clock was opened, on this clock ... */
            int64_t anchor_ns;    /* ... and on the reference that it is calibrated against, ... */
            int64_t anchor_width; /* ticks between which the reference was read */
            int64_t baseline_ns;  /* over which ns_per_tick was measured */
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
extern const struct db_clock_type db_clock_simulated; /* in a build for a simulator alone */

/* Registry of the clocks that can be chosen by name (registry.h). */
extern const void *const db_clock_types[];

/* Opens the clock `type`; NULL stands for the default: tsc where it is invariant, else monotonic_raw; in a simulation
 * simulated. Returns 0, or -1 if this machine lacks the clock. */
int db_clock_open(struct db_clock *clock, const struct db_clock_type *type);

/* Releases what the clock owns. A zeroed clock may be closed. */
void db_clock_close(struct db_clock *clock);

static inline int64_t db_clock_read(const struct db_clock *clock) { return clock->type->read(clock); }

/* The readings of two clocks at the same instant, up to the ticks of the outer one between which the inner one was
 * read. */
struct db_clock_pair {
    int64_t outer;
    int64_t inner;
    int64_t width; /* of the outer clock's ticks; outer is in their middle */
};

/* The narrowest pair of many: the first readings are slow, and any may be interrupted. */
struct db_clock_pair db_clock_read_pair(const struct db_clock *outer, const struct db_clock *inner);

/* Identity of a clock called `source` that belongs to this booted kernel and, where `namespaced`, to this time
 * namespace. Leaves `identity` empty if the system does not say. */
void db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced);

#endif
