/* Peers are at the same place in blocks of the tree (tree_wide.c) at a distance of one block, then of two; where the
 * tree has one level, one and two ranks away. Alternately the peer of higher rank and that of lower rank comes first,
 * so that both are free for each other. */
#include "sync/sync.h"

#include "base/error.h"

/* With fewer processes the peers would take as long as the tree. */
#define FEWEST_PROCESSES 32

struct peers {
    int size; /* of the group */
    int block;
    int both; /* 1 if the two peers at a distance count together only */
};

/* The peer of that number, or -1. */
static int peer_of(const struct peers *peers, int rank, int number) {
    int distance = number / 2 + 1;
    int higher = rank / peers->block / distance % 2 == number % 2;
    int64_t peer = rank + (int64_t)peers->block * (higher ? distance : -distance);
    return peer >= 0 && peer < peers->size ? (int)peer : -1;
}

/* Whether a process learns from its peer of that number; process 0 learns from nobody. Path asymmetry that depends on
 * the direction of ranks cancels between a peer of higher and one of lower rank. In a tree of one level the ends, which
 * have only one of the two, would differ from the others. */
static int learns(const struct peers *peers, int rank, int number) {
    return rank > 0 && peer_of(peers, rank, number) >= 0 && (!peers->both || peer_of(peers, rank, number ^ 1) >= 0);
}

int db_peers(const struct db_sync_group *group, int radix, int count,
             int (*learn)(int peer, int number, void *argument), int (*teach)(int peer, void *argument),
             void *argument) {
    radix = db_tree_radix(group, radix);
    const int one_level = radix >= group->size;
    const struct peers peers = {.size = group->size, .block = one_level ? 1 : radix, .both = one_level};
    if (group->size < FEWEST_PROCESSES)
        return MPI_SUCCESS;
    for (int number = 0; number < count; ++number) {
        int peer = peer_of(&peers, group->rank, number);
        for (int turn = 0; turn < 2 && peer >= 0; ++turn) {
            int learner = (turn == 0) == (group->rank < peer) ? group->rank : peer;
            if (learns(&peers, learner, number))
                DB_TRY(learner == group->rank ? learn(peer, number, argument) : teach(peer, argument));
        }
    }
    return MPI_SUCCESS;
}
