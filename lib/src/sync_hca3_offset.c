/* HCA3 in offset form (Hunold 2018; Schuchart 2023, sections 4 and 6, Fig. 5).
 *
 * A binomial tree from rank 0 down: in each round every synchronized process is the reference of one that is not yet,
 * so that ceil(log2 p) rounds serve all. With m the largest power of two <= p, the first round goes from 0 to m/2, the
 * next from 0 to m/4 and from m/2 to 3m/4, and so on; ranks m and above take one more round, with the rank that lies m
 * below. */
#include "sync.h"

#include "error.h"

static int synchronize(const struct db_sync_group *group, struct db_clock_map *map) {
    int power = 1;
    while (power <= group->size / 2)
        power *= 2;

    int round = 0;
    if (group->rank < power) {
        for (int step = power / 2; step >= 1; step /= 2, ++round) {
            int place = group->rank % (2 * step);
            if (place == 0)
                DB_TRY(db_sync_teach(group, group->rank + step, map));
            else if (place == step)
                DB_TRY(db_sync_learn(group, group->rank - step, &group->pairs[round], map));
        }
        if (group->rank + power < group->size)
            DB_TRY(db_sync_teach(group, group->rank + power, map));
    } else {
        DB_TRY(db_sync_learn(group, group->rank - power, &group->pairs[round], map));
    }
    return MPI_SUCCESS;
}

const struct db_sync_type db_sync_hca3_offset = {.name = "hca3_offset", .synchronize = synchronize};
