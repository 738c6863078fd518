#include "base/error.h"
#include "virtual_world.h"

#include <stdlib.h>
#include <string.h>

/* Collective operations are binomial trees: the parent of a rank is the rank without its lowest bit. */

/* The number of ranks in the subtree of `rank`, itself included, where the group is large enough: its lowest bit. */
static int subtree(int rank, int size) {
    int step = 1;
    while (step < size && (rank & step) == 0)
        step *= 2;
    return step;
}

int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int64_t *most = virtual_allocate((size_t)count, sizeof *most);
    int64_t *theirs = virtual_allocate((size_t)count, sizeof *theirs);
    memcpy(most, words, (size_t)count * sizeof *most);
    for (int step = 1; step < subtree(rank, group->size) && rank + step < group->size; step *= 2) {
        DB_TRY(virtual_receive(number, COLLECTIVE, theirs, count, rank + step));
        for (int i = 0; i < count; ++i)
            if (theirs[i] > most[i])
                most[i] = theirs[i];
    }
    if (rank != 0)
        DB_TRY(virtual_send(number, COLLECTIVE, most, count, rank - subtree(rank, group->size)));
    else
        memcpy(result, most, (size_t)count * sizeof *most);
    free(theirs);
    free(most);
    return MPI_SUCCESS;
}

int db_broadcast(const struct db_channel *channel, int64_t *words, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int reach = subtree(rank, group->size);
    if (rank != 0)
        DB_TRY(virtual_receive(number, COLLECTIVE, words, count, rank - reach));
    for (int step = reach / 2; step >= 1; step /= 2)
        if (rank + step < group->size)
            DB_TRY(virtual_send(number, COLLECTIVE, words, count, rank + step));
    return MPI_SUCCESS;
}

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count) {
    int number = virtual_group_of(channel);
    const struct group *group = &virtual_self->world->groups[number];
    int rank = group->rank_of[virtual_self->index];
    int reach = subtree(rank, group->size);
    int ranks = rank + reach < group->size ? reach : group->size - rank;
    size_t block = (size_t)count;
    int64_t *blocks = virtual_allocate(block * (size_t)ranks, sizeof *blocks);
    if (rank == 0)
        memcpy(blocks, words, block * (size_t)ranks * sizeof *blocks);
    else
        DB_TRY(virtual_receive(number, COLLECTIVE, blocks, count * ranks, rank - reach));
    for (int step = reach / 2; step >= 1; step /= 2)
        if (step < ranks) {
            int theirs = 2 * step < ranks ? step : ranks - step;
            DB_TRY(virtual_send(number, COLLECTIVE, blocks + block * (size_t)step, count * theirs, rank + step));
        }
    memcpy(mine, blocks, block * sizeof *mine);
    free(blocks);
    return MPI_SUCCESS;
}
