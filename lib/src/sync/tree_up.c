/* The order db_tree_up (sync.h): the tree of Netgauge (Hoefler 2008, section 3.2, Fig. 7) and HCA (Hunold 2015, Alg. 1
 * and 2). With m the largest power of two <= p, in round k the ranks r with r mod 2^k = 2^(k-1) learn the clock of r -
 * 2^(k-1) and send it all models of their subtree, which it composes with the new one. Finally rank 0 has all models
 * and scatters them.
 *
 * The ranks r >= m ("upper" ranks) take one more round, with rank r - m. In this implementation it is the first round,
 * not the last as published, so that these models travel in the tree: p - m messages to rank 0 would cost O(p). */
#include "sync/sync.h"

#include "base/error.h"

#include <stdlib.h>

#define MODEL_WORDS ((int)(sizeof(struct db_clock_map) / sizeof(int64_t)))

/* This process's view of the tree. */
struct tree {
    const struct db_sync_group *group;
    const struct db_learning *learning;
    int power;        /* m */
    int subtree_size; /* number of ranks below m in this process's subtree; 1 for ranks >= m */
    /* Models of this process's subtree, from each rank's local time to this process's local time. below[i] is the model
     * of rank + i, above[i] the model of rank + m + i. */
    struct db_clock_map *below;
    struct db_clock_map *above;
};

/* Number of ranks that exist in a block of `count` ranks from `first` on. */
static int count_existing(const struct tree *tree, int first, int count) {
    int present = tree->group->size - first;
    if (present < 0)
        return 0;
    return present < count ? present : count;
}

/* Sends the models of this process's subtree: `count` ranks, and the existing ranks m above them. */
static int send_subtree(const struct tree *tree, int count, int reference) {
    const struct db_channel *channel = &tree->group->channel;
    int upper_count = count_existing(tree, tree->group->rank + tree->power, count);
    DB_TRY(db_send(channel, (const int64_t *)tree->below, count * MODEL_WORDS, reference));
    if (upper_count > 0)
        DB_TRY(db_send(channel, (const int64_t *)tree->above, upper_count * MODEL_WORDS, reference));
    return MPI_SUCCESS;
}

/* Receives the subtree, of `count` ranks, of rank + count. Its first model maps to this process's local time, the
 * others to the sender's, so they are composed with the first. */
static int receive_subtree(const struct tree *tree, int count) {
    const struct db_channel *channel = &tree->group->channel;
    int sender = tree->group->rank + count;
    int upper_count = count_existing(tree, sender + tree->power, count);
    struct db_clock_map *below = &tree->below[count];
    struct db_clock_map *above = &tree->above[count];
    DB_TRY(db_receive(channel, (int64_t *)below, count * MODEL_WORDS, sender));
    if (upper_count > 0)
        DB_TRY(db_receive(channel, (int64_t *)above, upper_count * MODEL_WORDS, sender));
    for (int i = 1; i < count; ++i)
        below[i] = db_map_compose(&below[i], below);
    for (int i = 0; i < upper_count; ++i)
        above[i] = db_map_compose(&above[i], below);
    return MPI_SUCCESS;
}

/* Learns the model from this process's local time to the reference's, as the first model of the subtree. */
static int learn_reference(const struct tree *tree, int reference, int round) {
    const struct db_sync_group *group = tree->group;
    return db_sync_learn(group, tree->learning, reference, &group->pairs[round], tree->below);
}

/* Answers a learner with this process's local time. */
static int teach_learner(const struct tree *tree, int learner) {
    return db_sync_teach(tree->group, learner, &tree->group->local);
}

/* The round of the upper ranks. */
static int upper_round(const struct tree *tree) {
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

/* Learns and sends the models up to process 0. */
static int go_up(const struct tree *tree) {
    int rank = tree->group->rank;
    DB_TRY(upper_round(tree));
    int round = 1;
    int step = 1;
    for (; step < tree->subtree_size; step *= 2, ++round) {
        DB_TRY(teach_learner(tree, rank + step));
        DB_TRY(receive_subtree(tree, step));
    }
    if (rank == 0 || rank >= tree->power)
        return MPI_SUCCESS;
    DB_TRY(learn_reference(tree, rank - step, round));
    return send_subtree(tree, step, rank - step);
}

/* Process 0, whose subtree has all ranks, composes the models with its map to the global clock, and scatters them. */
static int spread(const struct tree *tree, struct db_clock_map *map) {
    const struct db_sync_group *group = tree->group;
    if (group->rank == 0) {
        struct db_clock_map root = db_sync_from_local(group, map);
        int upper_count = count_existing(tree, tree->power, tree->subtree_size);
        for (int i = 1; i < tree->subtree_size; ++i)
            tree->below[i] = db_map_compose(&tree->below[i], &root);
        for (int i = 0; i < upper_count; ++i)
            tree->above[i] = db_map_compose(&tree->above[i], &root);
    }
    struct db_clock_map model;
    /* On rank 0 `below` and `above` are one array: a map for each rank. */
    DB_TRY(db_scatter(&group->channel, (const int64_t *)tree->below, (int64_t *)&model, MODEL_WORDS));
    if (group->rank > 0)
        db_sync_adopt(group, &model, map);
    return MPI_SUCCESS;
}

int db_tree_up(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map) {
    struct tree tree = {.group = group, .learning = learning, .power = 1, .subtree_size = 1};
    while (tree.power <= group->size / 2)
        tree.power *= 2;
    while (group->rank < tree.power && tree.subtree_size < tree.power && group->rank % (2 * tree.subtree_size) == 0)
        tree.subtree_size *= 2;
    tree.below = calloc(2 * (size_t)tree.subtree_size, sizeof *tree.below);
    if (tree.below == NULL)
        return MPI_ERR_NO_MEM;
    tree.above = tree.below + tree.subtree_size;
    int code = go_up(&tree);
    if (code == MPI_SUCCESS)
        code = spread(&tree, map);
    free(tree.below);
    return code;
}
