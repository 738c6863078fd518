/* The order db_tree_down (sync.h): a binomial tree from the root. With m the largest power of two <= p, in the first
 * round rank 0 is the reference of m/2, in the next 0 of m/4 and m/2 of 3m/4, and so on; in one more round each rank r
 * < p - m is the reference of r + m. */
#include "sync/sync.h"

#include "base/error.h"

/* Learns the clock of `peer`, which answers with the global clock. */
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
        int position = group->rank % (2 * step);
        if (position == 0)
            DB_TRY(db_sync_teach(group, group->rank + step, map));
        else if (position == step)
            DB_TRY(learn_global(group, learning, group->rank - step, round, map));
    }
    if (group->rank + power < group->size)
        DB_TRY(db_sync_teach(group, group->rank + power, map));
    return MPI_SUCCESS;
}
