#include "sync.h"

#include "error.h"

#include <stddef.h>

const void *const db_sync_types[] = {&db_sync_hca3_offset, NULL};

/* Timestamps and maps are whole nanoseconds: one of them on either side, one in the map. Beyond that a timestamp is
 * behind by the clock's resolution, which is taken to be the same on both sides. */
#define ROUNDING_NS 3.0

/* The relative difference in frequency to allow for: that of the oscillators, and what either side's calibration is off
 * by, which is taken to be the same on both sides. */
static double allowed_skew(const struct db_sync_group *group) {
    return group->max_skew + 2.0 * group->clock->rate_error;
}

int db_sync_learn(const struct db_sync_group *group, int peer, struct db_pair *pair, struct db_clock_map *map) {
    /* Times relative to the start keep full precision, whatever the counter shows. */
    const struct db_clock_map local = {.ticks = db_clock_read(group->clock), .ns_per_tick = group->clock->ns_per_tick};
    const struct db_asker asker = {
        .channel = &group->channel, .peer = peer, .timeline = {.clock = group->clock, .map = &local}};
    struct db_offset offset;
    DB_TRY(group->offset->measure(&asker, pair, &offset));

    map->ticks = db_map_ticks(&local, offset.at);
    map->global_ns = offset.at + llrint(offset.offset_ns);
    map->ns_per_tick = local.ns_per_tick;
    map->bound_ns = offset.bound_ns + offset.peer_bound_ns + allowed_skew(group) * offset.duration_ns +
                    group->clock->resolution_ns + ROUNDING_NS;
    map->growth = allowed_skew(group);
    return MPI_SUCCESS;
}

int db_sync_teach(const struct db_sync_group *group, int peer, const struct db_clock_map *map) {
    const struct db_timeline timeline = {.clock = group->clock, .map = map};
    return db_exchange_serve(&group->channel, peer, &timeline);
}
