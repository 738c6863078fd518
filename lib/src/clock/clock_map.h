/* A clock map converts readings of this process's clock to the global clock of a communicator. It also has a hard bound
 * of its error and the uncertainty (a covariance) from which the expected error follows; both grow with time.
 * Deadlines, global times, bounds and expected errors always come from the current map; no other code stores clock
 * offsets. A map has only 64-bit words, so that it can be sent as a message. "Relative" means without a unit: a
 * difference of two frequencies divided by the frequency. */
#ifndef DOWNBEAT_CLOCK_MAP_H
#define DOWNBEAT_CLOCK_MAP_H

#include <math.h>
#include <stdint.h>

/* Covariance of a map's offset and rate errors, and the random walk of the frequency. At t ns after the map's reading
 * the variance of its error, ns^2, is offset + 2 cross t + rate t^2 + walk t^3 / 3. */
struct db_uncertainty {
    double offset;    /* variance of the offset, ns^2 */
    double cross;     /* covariance of offset and rate, ns */
    double rate;      /* variance of the rate, relative^2 */
    double walk;      /* growth of the rate's variance, relative^2 per ns */
    double asymmetry; /* additional variance from path asymmetry, ns^2; exchanges of timestamps do not show it, so
                         further exchanges do not reduce it */
};

/* A line from ticks of the local clock to ns of the global clock, with its error. */
struct db_clock_map {
    int64_t version;    /* number of clock synchronizations; 0: no map yet */
    int64_t ticks;      /* a reading of the local clock */
    int64_t global_ns;  /* time of the global clock at that reading */
    double ns_per_tick; /* rate: ns of the global clock per tick */
    double bound_ns;    /* hard bound of the error of global_ns */
    double growth;      /* growth of the bound, ns per ns (relative) */
    double ramp;        /* growth of `growth` per ns, because frequencies wander */
    struct db_uncertainty uncertainty;
};

/* Time of the global clock from the map's reading to `ticks`, ns; negative before it. */
static inline double db_map_elapsed_ns(const struct db_clock_map *map, int64_t ticks) {
    return (double)(ticks - map->ticks) * map->ns_per_tick;
}

/* floor and ceil to an integer, without the function call that the library functions need on x86-64. */
static inline int64_t db_floor(double value) {
    int64_t truncated = (int64_t)value;
    return truncated - ((double)truncated > value);
}

static inline int64_t db_ceil(double value) {
    int64_t truncated = (int64_t)value;
    return truncated + ((double)truncated < value);
}

/* Time of the global clock at the reading `ticks`, ns. */
static inline int64_t db_map_global_ns(const struct db_clock_map *map, int64_t ticks) {
    return map->global_ns + db_floor(db_map_elapsed_ns(map, ticks));
}

/* First reading at which the global clock shows at least `global_ns`. */
static inline int64_t db_map_ticks(const struct db_clock_map *map, int64_t global_ns) {
    return map->ticks + db_ceil((double)(global_ns - map->global_ns) / map->ns_per_tick);
}

/* Hard bound of the error at the reading `ticks`, ns. */
static inline double db_map_bound_ns(const struct db_clock_map *map, int64_t ticks) {
    double elapsed_ns = fabs(db_map_elapsed_ns(map, ticks));
    return map->bound_ns + elapsed_ns * (map->growth + elapsed_ns * map->ramp / 2.0);
}

/* Uncertainty after `ns` more nanoseconds; `then` unchanged if `ns` is negative. */
static inline struct db_uncertainty db_uncertainty_after(const struct db_uncertainty *then, double ns) {
    double t = fmax(0.0, ns);
    return (struct db_uncertainty){.offset =
                                       then->offset + t * (2.0 * then->cross + t * (then->rate + t * then->walk / 3.0)),
                                   .cross = then->cross + t * (then->rate + t * then->walk / 2.0),
                                   .rate = then->rate + t * then->walk,
                                   .walk = then->walk,
                                   .asymmetry = then->asymmetry};
}

/* Uncertainty of the sum of two independent errors. */
static inline struct db_uncertainty db_uncertainty_sum(const struct db_uncertainty *a, const struct db_uncertainty *b) {
    return (struct db_uncertainty){.offset = a->offset + b->offset,
                                   .cross = a->cross + b->cross,
                                   .rate = a->rate + b->rate,
                                   .walk = a->walk + b->walk,
                                   .asymmetry = a->asymmetry + b->asymmetry};
}

/* Uncertainty if only bounds are known: a uniform distribution within them. */
static inline struct db_uncertainty db_uncertainty_within(double bound_ns, double growth) {
    return (struct db_uncertainty){.offset = bound_ns * bound_ns / 3.0, .rate = growth * growth / 3.0};
}

/* Standard deviation of the error at `ticks`, ns, with `asymmetry` (ns^2) added to the variance; at most that of a
 * uniform distribution within the bound. */
static inline double db_map_deviation_with_ns(const struct db_clock_map *map, int64_t ticks, double asymmetry) {
    double bound_ns = db_map_bound_ns(map, ticks);
    double variance = db_uncertainty_after(&map->uncertainty, db_map_elapsed_ns(map, ticks)).offset + asymmetry;
    return sqrt(fmin(fmax(0.0, variance), bound_ns * bound_ns / 3.0));
}

/* Standard deviation, ns, of the error that another synchronization can reduce: without path asymmetry. */
static inline double db_map_deviation_ns(const struct db_clock_map *map, int64_t ticks) {
    return db_map_deviation_with_ns(map, ticks, 0.0);
}

/* Expected error: standard deviation, ns, including path asymmetry. */
static inline double db_map_expected_ns(const struct db_clock_map *map, int64_t ticks) {
    return db_map_deviation_with_ns(map, ticks, map->uncertainty.asymmetry);
}

/* Composes two maps: the global clock of `inner` is the local clock of `outer`. Equivalent to Hunold 2015, Eq. 1, for
 * slopes and intercepts. */
static inline struct db_clock_map db_map_compose(const struct db_clock_map *inner, const struct db_clock_map *outer) {
    double later_ns = db_map_elapsed_ns(outer, inner->global_ns);
    struct db_uncertainty outer_then = db_uncertainty_after(&outer->uncertainty, later_ns);
    return (struct db_clock_map){
        .version = inner->version,
        .ticks = inner->ticks,
        .global_ns = outer->global_ns + llrint(later_ns),
        .ns_per_tick = inner->ns_per_tick * outer->ns_per_tick,
        .bound_ns = inner->bound_ns * outer->ns_per_tick + db_map_bound_ns(outer, inner->global_ns),
        .growth = inner->growth + outer->growth + outer->ramp * fabs(later_ns),
        .ramp = fmax(inner->ramp, outer->ramp), /* not the sum: DB_MAX_RAMP holds for any two clocks */
        .uncertainty = db_uncertainty_sum(&inner->uncertainty, &outer_then)};
}

/* Inverts a map. The bound of the inverse is conservative: at least as large as the exact one. */
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
