/* With m the largest power of two <= p, the first round goes from 0 to m/2, the next from 0 to m/4 and from m/2 to
 * 3m/4, and so on; ranks m and above take one more round, with the rank m below. */
#include "sync/sync.h"

#include "base/error.h"

static int learn_global(const struct db_sync_group *group, const struct db_learning *learning, int peer, int round,
                        struct db_clock_map *map) {
    struct db_clock_map model;
    DB_TRY(db_sync_learn(group, learning, peer, &group->pairs[round], &model));
    db_sync_adopt(group, &model, map);
    return MPI_SUCCESS;
}

int db_tree_down(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map) {
    int power = 1;
    while (power <= group->size / 2)
        power *= 2;

    if (group->rank >= power)
        return learn_global(group, learning, group->rank - power, 0, map);
    int round = 0;
    for (int step = power / 2; step >= 1; step /= 2, ++round) {
        int place = group->rank % (2 * step);
        if (place == 0)
            DB_TRY(db_sync_teach(group, group->rank + step, map));
        else if (place == step)
            DB_TRY(learn_global(group, learning, group->rank - step, round, map));
    }
    if (group->rank + power < group->size)
        DB_TRY(db_sync_teach(group, group->rank + power, map));
    return MPI_SUCCESS;
}
