/* A clock map converts this process's clock to the global clock of a communicator. It carries a version, the error
 * bound it had when it was made, how fast that bound grows, and the error to be expected. Deadlines, global times,
 * bounds and expected errors always come from the map in force; no other code keeps an offset of its own. Only 64-bit
 * words, so that it can be sent as such. */
#ifndef DOWNBEAT_CLOCK_MAP_H
#define DOWNBEAT_CLOCK_MAP_H

#include <math.h>
#include <stdint.h>

/* The variance of a map's error, ns^2: offset + 2 cross t + rate t^2 + walk t^3 / 3, at t ns after the map's reading.
 * The error of an offset and of a rate that were estimated together, and the random walk of a frequency since. */
struct db_uncertainty {
    double offset; /* ns^2 */
    double cross;  /* ns */
    double rate;   /* relative^2 */
    double walk;   /* relative^2 per ns */
    double unseen; /* ns^2, on top: path asymmetry, which no exchange reveals, so another one gains nothing */
};

struct db_clock_map {
    int64_t version;
    int64_t ticks;      /* at this reading of the local clock ... */
    int64_t global_ns;  /* ... the global clock shows this */
    double ns_per_tick; /* and rises by this much per tick */
    double bound_ns;    /* of the error of global_ns */
    double growth;      /* of the bound per ns from then on */
    double ramp;        /* second derivative of the bound, per ns^2: frequencies wander */
    struct db_uncertainty uncertainty;
};

static inline double db_map_elapsed_ns(const struct db_clock_map *map, int64_t ticks) {
    return (double)(ticks - map->ticks) * map->ns_per_tick;
}

/* floor and ceil, without the call that they are on x86-64. */
static inline int64_t db_floor(double value) {
    int64_t whole = (int64_t)value;
    return whole - ((double)whole > value);
}

static inline int64_t db_ceil(double value) {
    int64_t whole = (int64_t)value;
    return whole + ((double)whole < value);
}

static inline int64_t db_map_global_ns(const struct db_clock_map *map, int64_t ticks) {
    return map->global_ns + db_floor(db_map_elapsed_ns(map, ticks));
}

/* The first tick at which the global clock shows at least `global_ns`. */
static inline int64_t db_map_ticks(const struct db_clock_map *map, int64_t global_ns) {
    return map->ticks + db_ceil((double)(global_ns - map->global_ns) / map->ns_per_tick);
}

static inline double db_map_bound_ns(const struct db_clock_map *map, int64_t ticks) {
    double elapsed_ns = fabs(db_map_elapsed_ns(map, ticks));
    return map->bound_ns + elapsed_ns * (map->growth + elapsed_ns * map->ramp / 2.0);
}

/* The same as seen from a reading `ns` later. With a negative `ns`, the same as `then`. */
static inline struct db_uncertainty db_uncertainty_after(const struct db_uncertainty *then, double ns) {
    double t = fmax(0.0, ns);
    return (struct db_uncertainty){.offset =
                                       then->offset + t * (2.0 * then->cross + t * (then->rate + t * then->walk / 3.0)),
                                   .cross = then->cross + t * (then->rate + t * then->walk / 2.0),
                                   .rate = then->rate + t * then->walk,
                                   .walk = then->walk,
                                   .unseen = then->unseen};
}

/* The sum of two independent errors. */
static inline struct db_uncertainty db_uncertainty_sum(const struct db_uncertainty *a, const struct db_uncertainty *b) {
    return (struct db_uncertainty){.offset = a->offset + b->offset,
                                   .cross = a->cross + b->cross,
                                   .rate = a->rate + b->rate,
                                   .walk = a->walk + b->walk,
                                   .unseen = a->unseen + b->unseen};
}

/* Where only bounds are known: the error is taken to be anywhere within them. */
static inline struct db_uncertainty db_uncertainty_within(double bound_ns, double growth) {
    return (struct db_uncertainty){.offset = bound_ns * bound_ns / 3.0, .rate = growth * growth / 3.0};
}

static inline double db_map_deviation_with_ns(const struct db_clock_map *map, int64_t ticks, double unseen) {
    double bound_ns = db_map_bound_ns(map, ticks);
    double variance = db_uncertainty_after(&map->uncertainty, db_map_elapsed_ns(map, ticks)).offset + unseen;
    return sqrt(fmin(fmax(0.0, variance), bound_ns * bound_ns / 3.0));
}

/* What may be gained by another synchronization when the local clock shows `ticks`: one standard deviation, ns; no more
 * than that of an error anywhere within the bound. */
static inline double db_map_deviation_ns(const struct db_clock_map *map, int64_t ticks) {
    return db_map_deviation_with_ns(map, ticks, 0.0);
}

/* Expected error (1 sigma, ns), including path asymmetry, which no exchange can reveal. */
static inline double db_map_expected_ns(const struct db_clock_map *map, int64_t ticks) {
    return db_map_deviation_with_ns(map, ticks, map->uncertainty.unseen);
}

/* From the inner map's clock to the outer's global clock: the inner map leads to the clock that the outer one begins
 * with. Hunold 2015, Eq. 1, does the same with slopes and intercepts. */
static inline struct db_clock_map db_map_compose(const struct db_clock_map *inner, const struct db_clock_map *outer) {
    double later_ns = db_map_elapsed_ns(outer, inner->global_ns);
    struct db_uncertainty outer_then = db_uncertainty_after(&outer->uncertainty, later_ns);
    return (struct db_clock_map){.version = inner->version,
                                 .ticks = inner->ticks,
                                 .global_ns = outer->global_ns + llrint(later_ns),
                                 .ns_per_tick = inner->ns_per_tick * outer->ns_per_tick,
                                 .bound_ns =
                                     inner->bound_ns * outer->ns_per_tick + db_map_bound_ns(outer, inner->global_ns),
                                 .growth = inner->growth + outer->growth + outer->ramp * fabs(later_ns),
                                 .ramp = fmax(inner->ramp, outer->ramp), /* of any two clocks */
                                 .uncertainty = db_uncertainty_sum(&inner->uncertainty, &outer_then)};
}

/* From the clock that the map leads to, back, with no smaller a bound. */
static inline struct db_clock_map db_map_inverse(const struct db_clock_map *map) {
    double slowest = 1.0 - map->growth; /* relative to the map's rate */
    return (struct db_clock_map){.version = map->version,
                                 .ticks = map->global_ns,
                                 .global_ns = map->ticks,
                                 .ns_per_tick = 1.0 / map->ns_per_tick,
                                 .bound_ns = map->bound_ns / (slowest * map->ns_per_tick),
                                 .growth = map->growth / slowest,
                                 .ramp = map->ramp / slowest,
                                 .uncertainty = map->uncertainty};
}

#endif
