/* Ranks are divided into blocks, each block into as many smaller ones as the radix says, and so on down to single
 * ranks. One rank leads each block. On each level of the tree the leader of a block is the reference of the leaders of
 * the blocks in it; the largest blocks come first. With radix 2 that is a binomial tree.
 *
 * Rank 0 leads all. Alternately the highest and the lowest rank leads a block, so that path asymmetry that depends on
 * the direction of ranks is added on one level and removed on the next. */
#include "sync/sync.h"

#include "base/error.h"

/* The smallest radix that needs at most `levels` levels for `size` processes. */
static int radix_for(int levels, int size) {
    int radix = (int)floor(pow(size, 1.0 / levels));
    if (radix < 2)
        return 2;
    return pow(radix, levels) >= size ? radix : radix + 1;
}

int db_tree_radix(const struct db_sync_group *group, int radix) {
    return radix == 0 ? radix_for(group->depth, group->size) : radix;
}

struct block {
    int first;
    int end; /* the rank after the last */
    int leader;
};

/* The blocks of so many ranks in a block are led by its leader, and by ranks at the other end of theirs. */
static struct block part_of(const struct block *block, int64_t step, int rank) {
    int first = (int)(block->first + (rank - block->first) / step * step);
    int end = block->end - first > step ? (int)(first + step) : block->end;
    int other = block->leader == block->first ? end - 1 : first;
    int led = block->leader >= first && block->leader < end;
    return (struct block){.first = first, .end = end, .leader = led ? block->leader : other};
}

int db_tree_wide(const struct db_sync_group *group, int radix, int (*learn)(int reference, void *argument),
                 int (*teach)(int learner, void *argument), void *argument) {
    radix = db_tree_radix(group, radix);
    struct block block = {.end = group->size};
    int64_t step = 1;
    while (step * radix < group->size)
        step *= radix;
    for (; step >= 1; step /= radix) {
        struct block mine = part_of(&block, step, group->rank);
        if (group->rank == block.leader) {
            for (struct block part = part_of(&block, step, block.first);; part = part_of(&block, step, part.end)) {
                if (part.leader != block.leader)
                    DB_TRY(teach(part.leader, argument));
                if (part.end == block.end)
                    break;
            }
        } else if (group->rank == mine.leader) {
            DB_TRY(learn(block.leader, argument));
        }
        block = mine;
    }
    return MPI_SUCCESS;
}
