/* A clock map converts this process's clock to the global clock of a communicator. It carries a version, the error
 * bound it had when it was made and how fast that bound grows. Deadlines, global times and bounds always come from the
 * map in force; no other code keeps an offset of its own. Only 64-bit words, so that it can be sent as such. */
#ifndef DOWNBEAT_CLOCK_MAP_H
#define DOWNBEAT_CLOCK_MAP_H

#include <math.h>
#include <stdint.h>

struct db_clock_map {
    int64_t version;
    int64_t ticks;      /* at this reading of the local clock ... */
    int64_t global_ns;  /* ... the global clock shows this */
    double ns_per_tick; /* and rises by this much per tick */
    double bound_ns;    /* of the error of global_ns */
    double growth;      /* by which the bound grows per ns since then */
};

static inline double db_map_elapsed_ns(const struct db_clock_map *map, int64_t ticks) {
    return (double)(ticks - map->ticks) * map->ns_per_tick;
}

static inline int64_t db_map_global_ns(const struct db_clock_map *map, int64_t ticks) {
    return map->global_ns + (int64_t)floor(db_map_elapsed_ns(map, ticks));
}

/* The first tick at which the global clock shows at least `global_ns`. */
static inline int64_t db_map_ticks(const struct db_clock_map *map, int64_t global_ns) {
    return map->ticks + (int64_t)ceil((double)(global_ns - map->global_ns) / map->ns_per_tick);
}

static inline double db_map_bound_ns(const struct db_clock_map *map, int64_t ticks) {
    return map->bound_ns + map->growth * fabs(db_map_elapsed_ns(map, ticks));
}

/* From the inner map's clock to the outer's global clock: the inner map leads to the clock that the outer one begins
 * with. Hunold 2015, Eq. 1, does the same with slopes and intercepts. */
static inline struct db_clock_map db_map_compose(const struct db_clock_map *inner, const struct db_clock_map *outer) {
    return (struct db_clock_map){.version = inner->version,
                                 .ticks = inner->ticks,
                                 .global_ns = outer->global_ns + llrint(db_map_elapsed_ns(outer, inner->global_ns)),
                                 .ns_per_tick = inner->ns_per_tick * outer->ns_per_tick,
                                 .bound_ns =
                                     inner->bound_ns * outer->ns_per_tick + db_map_bound_ns(outer, inner->global_ns),
                                 .growth = inner->growth + outer->growth};
}

#endif
