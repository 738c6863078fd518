/* The tree of Netgauge (Hoefler 2008, section 3.2, Fig. 7) and HCA (Hunold 2015, Alg. 1 and 2). With m the largest
 * power of two <= p, in round k the ranks r with r mod 2^k = 2^(k-1) learn the clock of r - 2^(k-1) and hand it all
 * models of their subtree, which it merges with the new one; rank 0 has them all in the end and scatters them.
 *
 * The ranks m and above take one more round, with the rank m below. Here that round is the first and not the last, so
 * that their models travel with the others: p - m messages to rank 0 would make it O(p). */
#include "sync.h"

#include "error.h"

#include <stdlib.h>

#define MODEL_WORDS ((int)(sizeof(struct db_clock_map) / sizeof(int64_t)))

struct tree {
    const struct db_sync_group *group;
    const struct db_learning *learning;
    int power; /* m */
    int reach; /* of ranks below m in this process's subtree, itself included, if all exist */
    /* Of the subtree alone: from local time to that of this process. First those below m, then those m above. */
    struct db_clock_map *models;
};

static struct db_clock_map *model_of(const struct tree *tree, int rank) {
    int place = rank - tree->group->rank;
    return &tree->models[rank < tree->power || place == 0 ? place : place - tree->power + tree->reach];
}

/* The ranks of a block of `count` ranks >= m that exist. */
static int existing(const struct tree *tree, int first, int count) {
    int size = tree->group->size;
    if (first >= size)
        return 0;
    return first + count <= size ? count : size - first;
}

/* A subtree of `count` ranks from `first` on is two blocks: these, and those m above. */
static int send_subtree(const struct tree *tree, int first, int count, int reference) {
    const struct db_channel *channel = &tree->group->channel;
    int remaining = existing(tree, first + tree->power, count);
    DB_TRY(db_send(channel, (const int64_t *)model_of(tree, first), count * MODEL_WORDS, reference));
    if (remaining > 0)
        DB_TRY(
            db_send(channel, (const int64_t *)model_of(tree, first + tree->power), remaining * MODEL_WORDS, reference));
    return MPI_SUCCESS;
}

/* The first model leads from the sender's local time to this process's; the others to the sender's. */
static int receive_subtree(const struct tree *tree, int first, int count) {
    const struct db_channel *channel = &tree->group->channel;
    int above = first + tree->power;
    int remaining = existing(tree, above, count);
    struct db_clock_map *models = model_of(tree, first);
    struct db_clock_map *models_above = model_of(tree, above);
    DB_TRY(db_receive(channel, (int64_t *)models, count * MODEL_WORDS, first));
    if (remaining > 0)
        DB_TRY(db_receive(channel, (int64_t *)models_above, remaining * MODEL_WORDS, first));
    for (int i = 1; i < count; ++i)
        models[i] = db_map_compose(&models[i], models);
    for (int i = 0; i < remaining; ++i)
        models_above[i] = db_map_compose(&models_above[i], models);
    return MPI_SUCCESS;
}

static int learn(const struct tree *tree, int reference, int round) {
    const struct db_sync_group *group = tree->group;
    return db_sync_learn(group, tree->learning, reference, &group->pairs[round], model_of(tree, group->rank));
}

/* This process's local time is what it answers with. */
static int teach(const struct tree *tree, int learner) {
    return db_sync_teach(tree->group, learner, &tree->group->local);
}

static int remaining_round(const struct tree *tree) {
    const struct db_channel *channel = &tree->group->channel;
    int rank = tree->group->rank;
    if (rank >= tree->power) {
        DB_TRY(learn(tree, rank - tree->power, 0));
        return db_send(channel, (const int64_t *)model_of(tree, rank), MODEL_WORDS, rank - tree->power);
    }
    int learner = rank + tree->power;
    if (learner >= tree->group->size)
        return MPI_SUCCESS;
    DB_TRY(teach(tree, learner));
    return db_receive(channel, (int64_t *)model_of(tree, learner), MODEL_WORDS, learner);
}

static int go_up(const struct tree *tree) {
    int rank = tree->group->rank;
    DB_TRY(remaining_round(tree));
    int round = 1;
    for (int step = 1; step < tree->power && rank < tree->power; step *= 2, ++round) {
        int place = rank % (2 * step);
        if (place == 0) {
            DB_TRY(teach(tree, rank + step));
            DB_TRY(receive_subtree(tree, rank + step, step));
        } else if (place == step) {
            DB_TRY(learn(tree, rank - step, round));
            DB_TRY(send_subtree(tree, rank, step, rank - step));
        }
    }
    return MPI_SUCCESS;
}

/* From process 0's local time on to the global clock, then to each its own. */
static int spread(const struct tree *tree, struct db_clock_map *map) {
    const struct db_sync_group *group = tree->group;
    if (group->rank == 0) {
        struct db_clock_map own = db_sync_from_local(group, map);
        for (int rank = 1; rank < group->size; ++rank)
            *model_of(tree, rank) = db_map_compose(model_of(tree, rank), &own);
    }
    struct db_clock_map model;
    DB_TRY(db_scatter(&group->channel, (const int64_t *)tree->models, (int64_t *)&model, MODEL_WORDS));
    if (group->rank > 0)
        db_sync_adopt(group, &model, map);
    return MPI_SUCCESS;
}

int db_tree_up(const struct db_sync_group *group, const struct db_learning *learning, struct db_clock_map *map) {
    struct tree tree = {.group = group, .learning = learning, .power = 1};
    while (tree.power <= group->size / 2)
        tree.power *= 2;
    tree.reach = 1;
    while (tree.reach < tree.power && group->rank % (2 * tree.reach) == 0)
        tree.reach *= 2;
    tree.models = calloc(2 * (size_t)tree.reach, sizeof *tree.models);
    if (tree.models == NULL)
        return MPI_ERR_NO_MEM;
    int code = go_up(&tree);
    if (code == MPI_SUCCESS)
        code = spread(&tree, map);
    free(tree.models);
    return code;
}
