/* Ranks are numbers of some digits to a base, the radix. On each level of the tree the ranks that end in zeros are the
 * references of those that differ from them in the digit before; the largest step comes first. With radix 2 that is the
 * binomial tree. */
#include "sync.h"

#include "error.h"

/* The smallest radix that needs no more levels for so many processes. */
static int radix_for(int levels, int size) {
    int radix = (int)floor(pow(size, 1.0 / levels));
    if (radix < 2)
        return 2;
    return pow(radix, levels) >= size ? radix : radix + 1;
}

int db_tree_radix(const struct db_sync_group *group, int radix) {
    return radix == 0 ? radix_for(group->depth, group->size) : radix;
}

int db_tree_wide(const struct db_sync_group *group, int radix, int (*learn)(int reference, void *argument),
                 int (*teach)(int learner, void *argument), void *argument) {
    radix = db_tree_radix(group, radix);
    int64_t step = 1;
    while (step * radix < group->size)
        step *= radix;
    for (; step >= 1; step /= radix) {
        int place = (int)(group->rank % (step * radix));
        if (place % step != 0)
            continue;
        if (place > 0) {
            DB_TRY(learn(group->rank - place, argument));
            continue;
        }
        for (int i = 1; i < radix && group->rank + i * step < group->size; ++i)
            DB_TRY(teach((int)(group->rank + i * step), argument));
    }
    return MPI_SUCCESS;
}
