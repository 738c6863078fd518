/* The tree of Netgauge (Hoefler 2008, section 3.2, Fig. 7) and HCA (Hunold 2015, Alg. 1 and 2). With m the largest
 * power of two <= p, in round k the ranks r with r mod 2^k = 2^(k-1) learn the clock of r - 2^(k-1) and hand it all
 * models of their subtree, which it merges with the new one; rank 0 has them all in the end and scatters them.
 *
 * The ranks m and above take one more round, with the rank m below. Here that round is the first and not the last, so
 * that their models travel with the others: p - m messages to rank 0 would make it O(p). */
#include "sync/sync.h"

#include "base/error.h"

#include <stdlib.h>

#define MODEL_WORDS ((int)(sizeof(struct db_clock_map) / sizeof(int64_t)))

struct tree {
    const struct db_sync_group *group;
    const struct db_learning *learning;
    int power; /* m */
    int reach; /* ranks of this process's subtree below m, which is itself where it is not below m */
    /* Models of this process's subtree, from local time to that of this process: of the ranks below m by their distance
     * from this one, and of those m above these. */
    struct db_clock_map *below;
    struct db_clock_map *above;
};

/* The ranks of a block of `count` ranks >= m that exist. */
static int existing(const struct tree *tree, int first, int count) {
    int present = tree->group->size - first;
    if (present < 0)
        return 0;
    return present < count ? present : count;
}

/* This process's subtree, of `count` ranks, is two blocks: these, and those m above. */
static int send_subtree(const struct tree *tree, int count, int reference) {
    const struct db_channel *channel = &tree->group->channel;
    int remaining = existing(tree, tree->group->rank + tree->power, count);
    DB_TRY(db_send(channel, (const int64_t *)tree->below, count * MODEL_WORDS, reference));
    if (remaining > 0)
        DB_TRY(db_send(channel, (const int64_t *)tree->above, remaining * MODEL_WORDS, reference));
    return MPI_SUCCESS;
}

/* That of the rank `count` above, of as many ranks. The first model leads from the sender's local time to this
 * process's; the others to the sender's. */
static int receive_subtree(const struct tree *tree, int count) {
    const struct db_channel *channel = &tree->group->channel;
    int sender = tree->group->rank + count;
    int remaining = existing(tree, sender + tree->power, count);
    struct db_clock_map *below = &tree->below[count];
    struct db_clock_map *above = &tree->above[count];
    DB_TRY(db_receive(channel, (int64_t *)below, count * MODEL_WORDS, sender));
    if (remaining > 0)
        DB_TRY(db_receive(channel, (int64_t *)above, remaining * MODEL_WORDS, sender));
    for (int i = 1; i < count; ++i)
        below[i] = db_map_compose(&below[i], below);
    for (int i = 0; i < remaining; ++i)
        above[i] = db_map_compose(&above[i], below);
    return MPI_SUCCESS;
}

static int learn_reference(const struct tree *tree, int reference, int round) {
    const struct db_sync_group *group = tree->group;
    return db_sync_learn(group, tree->learning, reference, &group->pairs[round], tree->below);
}

/* This process's local time is what it answers with. */
static int teach_learner(const struct tree *tree, int learner) {
    return db_sync_teach(tree->group, learner, &tree->group->local);
}

static int remaining_round(const struct tree *tree) {
    const struct db_channel *channel = &tree->group->channel;
    int rank = tree->group->rank;
    if (rank >= tree->power) {
        DB_TRY(learn_reference(tree, rank - tree->power, 0));
        return db_send(channel, (const int64_t *)tree->below, MODEL_WORDS, rank - tree->power);
    }
    int learner = rank + tree->power;
    if (learner >= tree->group->size)
        return MPI_SUCCESS;
    DB_TRY(teach_learner(tree, learner));
    return db_receive(channel, (int64_t *)tree->above, MODEL_WORDS, learner);
}

static int go_up(const struct tree *tree) {
    int rank = tree->group->rank;
    DB_TRY(remaining_round(tree));
    int round = 1;
    int step = 1;
    for (; step < tree->reach; step *= 2, ++round) {
        DB_TRY(teach_learner(tree, rank + step));
        DB_TRY(receive_subtree(tree, step));
    }
    if (rank == 0 || rank >= tree->power)
        return MPI_SUCCESS;
    DB_TRY(learn_reference(tree, rank - step, round));
    return send_subtree(tree, step, rank - step);
}

/* From process 0's local time on to the global clock, then to each its own. Process 0's subtree is all, by rank. */
static int spread(const struct tree *tree, struct db_clock_map *map) {
    const struct db_sync_group *group = tree->group;
    if (group->rank == 0) {
        struct db_clock_map own = db_sync_from_local(group, map);
        int remaining = existing(tree, tree->power, tree->reach);
        for (int i = 1; i < tree->reach; ++i)
            tree->below[i] = db_map_compose(&tree->below[i], &own);
        for (int i = 0; i < remaining; ++i)
            tree->above[i] = db_map_compose(&tree->above[i], &own);
    }
    struct db_clock_map model;
    DB_TRY(db_scatter(&group->channel, (const int64_t *)tree->below, (int64_t *)&model, MODEL_WORDS));
    if (group->rank > 0)
        db_sync_adopt(group, &model, map);
    return MPI_SUCCESS;
}

int db_tree_up(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map) {
    struct tree tree = {.group = group, .learning = learning, .power = 1, .reach = 1};
    while (tree.power <= group->size / 2)
        tree.power *= 2;
    while (group->rank < tree.power && tree.reach < tree.power && group->rank % (2 * tree.reach) == 0)
        tree.reach *= 2;
    tree.below = calloc(2 * (size_t)tree.reach, sizeof *tree.below);
    if (tree.below == NULL)
        return MPI_ERR_NO_MEM;
    tree.above = tree.below + tree.reach;
    int code = go_up(&tree);
    if (code == MPI_SUCCESS)
        code = spread(&tree, map);
    free(tree.below);
    return code;
}
