/* The tree of db_tree_wide (sync.h), a k-nomial tree with k = radix. The ranks are divided recursively into `radix`
 * blocks, down to single ranks. One rank leads each block. On each level of the tree, from the largest blocks to the
 * smallest, the leader of a block is the reference of the leaders of the blocks in it. With radix 2 the tree is
 * binomial.
 *
 * Rank 0 is the root. Leaders are alternately the highest and the lowest rank of a block, so that path asymmetry that
 * depends on the direction of ranks cancels between levels. */
#include "sync/sync.h"

#include "base/error.h"

/* Smallest radix, at least 2, with at most `levels` levels for `size` processes. */
static int radix_for(int levels, int size) {
    int radix = (int)floor(pow(size, 1.0 / levels));
    if (radix < 2)
        return 2;
    return pow(radix, levels) >= size ? radix : radix + 1;
}

int db_tree_radix(const struct db_sync_group *group, int radix) {
    return radix == 0 ? radix_for(group->depth, group->size) : radix;
}

/* A block of consecutive ranks. */
struct block {
    int first;
    int end; /* last rank + 1 */
    int leader;
};

/* Returns the block of `step` ranks within `block` that contains `rank`. If the leader of `block` is in it, it has the
 * same leader; else its leader is the rank at the opposite end. */
static struct block subblock(const struct block *block, int64_t step, int rank) {
    int first = (int)(block->first + (rank - block->first) / step * step);
    int end = block->end - first > step ? (int)(first + step) : block->end;
    int opposite = block->leader == block->first ? end - 1 : first;
    int contains_leader = block->leader >= first && block->leader < end;
    return (struct block){.first = first, .end = end, .leader = contains_leader ? block->leader : opposite};
}

int db_tree_wide(const struct db_sync_group *group, int radix, int (*learn)(int reference, void *argument),
                 int (*teach)(int learner, void *argument), void *argument) {
    radix = db_tree_radix(group, radix);
    struct block block = {.end = group->size};
    int64_t step = 1;
    while (step * radix < group->size)
        step *= radix;
    for (; step >= 1; step /= radix) {
        struct block local = subblock(&block, step, group->rank);
        if (group->rank == block.leader) {
            for (struct block child = subblock(&block, step, block.first);; child = subblock(&block, step, child.end)) {
                if (child.leader != block.leader)
                    DB_TRY(teach(child.leader, argument));
                if (child.end == block.end)
                    break;
            }
        } else if (group->rank == local.leader) {
            DB_TRY(learn(block.leader, argument));
        }
        block = local;
    }
    return MPI_SUCCESS;
}
