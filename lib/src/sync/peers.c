/* Mates are at the same place in blocks of the tree (tree_wide.c) at a distance of one block, then of two; where the
 * tree has one level, one and two ranks away. By turns the mate of higher rank and that of lower rank comes first, so
 * that both are free for each other. */
#include "sync/sync.h"

#include "base/error.h"

/* With fewer processes the mates would take as long as the tree. */
#define FEWEST_PROCESSES 32

struct mates {
    int size; /* of the group */
    int block;
    int both; /* 1 if the two mates at a distance count together only */
};

/* The mate of that number, or -1. */
static int mate_of(const struct mates *mates, int rank, int number) {
    int distance = number / 2 + 1;
    int higher = rank / mates->block / distance % 2 == number % 2;
    int64_t mate = rank + (int64_t)mates->block * (higher ? distance : -distance);
    return mate >= 0 && mate < mates->size ? (int)mate : -1;
}

/* Whether a process learns from its mate of that number; process 0 from nobody. What ways to higher ranks take longer
 * than those back cancels between a mate of higher and one of lower rank. In a tree of one level the ends, which have
 * one of both, would stand out. */
static int learns(const struct mates *mates, int rank, int number) {
    return rank > 0 && mate_of(mates, rank, number) >= 0 && (!mates->both || mate_of(mates, rank, number ^ 1) >= 0);
}

int db_mates(const struct db_sync_group *group, int radix, int count,
             int (*learn)(int mate, int number, void *argument), int (*teach)(int mate, void *argument),
             void *argument) {
    radix = db_tree_radix(group, radix);
    const int one_level = radix >= group->size;
    const struct mates mates = {.size = group->size, .block = one_level ? 1 : radix, .both = one_level};
    if (group->size < FEWEST_PROCESSES)
        return MPI_SUCCESS;
    for (int number = 0; number < count; ++number) {
        int mate = mate_of(&mates, group->rank, number);
        for (int turn = 0; turn < 2 && mate >= 0; ++turn) {
            int learner = (turn == 0) == (group->rank < mate) ? group->rank : mate;
            if (learns(&mates, learner, number))
                DB_TRY(learner == group->rank ? learn(mate, number, argument) : teach(mate, argument));
        }
    }
    return MPI_SUCCESS;
}
