/* The registry of synchronization schemes, and functions that they share (sync.h). */
#include "sync/sync.h"

#include "base/error.h"

const void *const db_sync_types[] = {
    &db_sync_disciplined, &db_sync_hca3_offset, &db_sync_hca3,     &db_sync_hca2,         &db_sync_hca,  &db_sync_jk,
    &db_sync_netgauge,    &db_sync_skampi,      &db_sync_cristian, &db_sync_hierarchical, &db_sync_none, NULL,
};

int db_sync_run(const struct db_node *chosen, const struct db_sync_group *group, struct db_clock_map *map) {
    const struct db_sync_type *type = (const struct db_sync_type *)chosen->component;
    if (type->order == NULL)
        return type->synchronize(chosen, group, map);
    const struct db_learning learning = type->fits ? db_learning_fit(chosen) : db_learning_offset(chosen);
    return type->order(group, &learning, map);
}

struct db_clock_map db_sync_from_local(const struct db_sync_group *group, const struct db_clock_map *map) {
    struct db_clock_map converted = *map;
    double local = db_map_elapsed_ns(&group->local, map->ticks);
    converted.ticks = llrint(local);
    converted.ns_per_tick = map->ns_per_tick / group->local.ns_per_tick;
    converted.global_ns = map->global_ns + llrint(((double)converted.ticks - local) * converted.ns_per_tick);
    return converted;
}

void db_sync_adopt(const struct db_sync_group *group, const struct db_clock_map *model, struct db_clock_map *map) {
    /* A tick may last many nanoseconds, so the map starts at an integer reading, not at the model's time. */
    map->ticks = db_map_ticks(&group->local, model->ticks);
    double local = db_map_elapsed_ns(&group->local, map->ticks);
    map->global_ns = model->global_ns + llrint((local - (double)model->ticks) * model->ns_per_tick);
    map->ns_per_tick = model->ns_per_tick * group->local.ns_per_tick;
    map->bound_ns = model->bound_ns;
    map->uncertainty = model->uncertainty;
    map->ramp = model->ramp;
    /* Limited by the skew between process 0's clock and this one, even if the chain of references is long. Relative to
     * global time. */
    map->growth = fmin(model->growth, (group->limits.skew + fabs(model->ns_per_tick - 1.0)) / model->ns_per_tick);
}

int db_sync_learn(const struct db_sync_group *group, const struct db_learning *learning, int peer, struct db_pair *pair,
                  struct db_clock_map *model) {
    const struct db_asker asker = {
        .channel = &group->channel, .peer = peer, .timeline = {.clock = group->clock, .map = &group->local}};
    return db_drift_learn(learning, &group->limits, &asker, pair, model);
}

struct db_sync_group db_sync_lasting(const struct db_sync_group *group) {
    struct db_sync_group lasting = *group;
    lasting.local = group->lasting;
    lasting.limits = group->lasting_limits;
    return lasting;
}

#define MAP_WORDS ((int)(sizeof(struct db_clock_map) / sizeof(int64_t)))

int db_sync_send_map(const struct db_sync_group *group, int peer, const struct db_clock_map *map) {
    return db_send(&group->channel, (const int64_t *)map, MAP_WORDS, peer);
}

int db_sync_receive_map(const struct db_sync_group *group, int peer, struct db_clock_map *map) {
    return db_receive(&group->channel, (int64_t *)map, MAP_WORDS, peer);
}

int db_sync_teach(const struct db_sync_group *group, int peer, const struct db_clock_map *map) {
    const struct db_timeline timeline = {.clock = group->clock, .map = map};
    return db_exchange_serve(&group->channel, peer, &timeline);
}
