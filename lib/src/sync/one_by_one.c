/* The order db_one_by_one (sync.h): process 0 synchronizes every other process, one after another. */
#include "sync/sync.h"

#include "base/error.h"

int db_one_by_one(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map) {
    if (group->rank > 0) {
        struct db_clock_map model;
        DB_TRY(db_sync_learn(group, learning, 0, &group->pairs[0], &model));
        db_sync_adopt(group, &model, map);
        return MPI_SUCCESS;
    }
    for (int peer = 1; peer < group->size; ++peer)
        DB_TRY(db_sync_teach(group, peer, map));
    return MPI_SUCCESS;
}
