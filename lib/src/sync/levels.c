/* Division of processes into the levels of a hierarchical scheme (levels.h), by splits of communicators. */
#include "sync/levels.h"

#include "base/error.h"

const struct db_component db_level_skip = {DB_DESCRIBED("skip", "skip this level", "", DB_NO_PARAMETERS)};

const struct db_component db_level_propagate = {
    DB_DESCRIBED("propagate",
                 "processes verified to share a clock use one map; all others are synchronized by the "
                 "scheme of the level above",
                 "Schuchart 2023, section 4", DB_NO_PARAMETERS)};

/* Splits `scope` into the groups of a level, in the order of ranks. */
static int split(MPI_Comm scope, int level, int rank, MPI_Comm *group) {
    if (level == DB_NODES)
        return MPI_Comm_split_type(scope, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, group);
    struct db_location location = db_location_here();
    return MPI_Comm_split(scope, level == DB_SOCKETS ? location.socket : location.numa, rank, group);
}

/* Creates the level's communicator, with the first process of each group in `scope`. On other processes the level gets
 * no communicator. */
static int join_group_leaders(MPI_Comm scope, MPI_Comm group, int rank, struct db_level *level) {
    int group_rank;
    DB_TRY(MPI_Comm_rank(group, &group_rank));
    DB_TRY(MPI_Comm_split(scope, group_rank == 0 ? 0 : MPI_UNDEFINED, rank, &level->channel.comm));
    if (group_rank != 0)
        return MPI_SUCCESS;
    DB_TRY(MPI_Comm_rank(level->channel.comm, &level->rank));
    return MPI_Comm_size(level->channel.comm, &level->size);
}

/* Splits `scope` level by level, from nodes down to the lowest level. Frees the communicators that it replaces in
 * `scope`. */
static int divide_scope(struct db_levels *levels, MPI_Comm *scope, int rank, const struct db_node *hierarchical) {
    for (int i = DB_NODES; i < DB_WITHIN; ++i) {
        if (db_is(db_child(hierarchical, i), &db_level_skip))
            continue;
        MPI_Comm group;
        DB_TRY(split(*scope, i, rank, &group));
        int code = join_group_leaders(*scope, group, rank, &levels->level[i]);
        db_loss_free(scope, code);
        *scope = group;
        DB_TRY(code);
    }
    struct db_level *within = &levels->level[DB_WITHIN];
    DB_TRY(MPI_Comm_dup(*scope, &within->channel.comm));
    DB_TRY(MPI_Comm_rank(*scope, &within->rank));
    return MPI_Comm_size(*scope, &within->size);
}

void db_levels_init(struct db_levels *levels) {
    for (int i = 0; i < DB_LEVELS; ++i)
        levels->level[i] = (struct db_level){.channel.comm = MPI_COMM_NULL};
}

int db_levels_divide(struct db_levels *levels, const struct db_channel *channel, const struct db_node *hierarchical) {
    db_levels_init(levels);
    for (int i = 0; i < DB_LEVELS; ++i) {
        levels->level[i].channel = *channel;
        levels->level[i].channel.comm = MPI_COMM_NULL;
    }
    int rank;
    MPI_Comm scope;
    DB_TRY(MPI_Comm_rank(channel->comm, &rank));
    DB_TRY(MPI_Comm_dup(channel->comm, &scope));
    return db_loss_free(&scope, divide_scope(levels, &scope, rank, hierarchical));
}

void db_levels_free(struct db_levels *levels) {
    for (int i = 0; i < DB_LEVELS; ++i) {
        struct db_level *level = &levels->level[i];
        if (level->channel.comm != MPI_COMM_NULL)
            MPI_Comm_free(&level->channel.comm);
        level->size = 0;
    }
}
