/* Partners: other processes that a process compares its clock with in sync=disciplined (db_partners in sync.h). The
 * partners of rank i are i + s and i - s, modulo the size, for a few random shifts s that are a function of the size,
 * so that no message is needed to agree on them. Each rank has as many partners above as below, so that path asymmetry
 * that depends on the direction of ranks cancels; random shifts give a graph of small diameter. */
#include "sync/sync.h"

#include "base/error.h"
#include "split_mix.h"

/* Smallest group with partners. In smaller groups the comparisons with partners would take longer than the tree. Chosen
 * by hand, more than the default of 24 partners. */
#define MIN_PROCESSES 32

/* Draws `count` different shifts. Returns their number. */
static int draw_shifts(int size, int count, int shifts[DB_MAX_PARTNERS / 2]) {
    uint64_t state = (uint64_t)size;
    int drawn = 0;
    while (drawn < count) {
        int repeated = 0;
        shifts[drawn] = 1 + (int)(db_split_mix(&state) % (uint64_t)((size - 1) / 2));
        for (int i = 0; i < drawn; ++i)
            repeated |= shifts[i] == shifts[drawn];
        drawn += !repeated;
    }
    return drawn;
}

/* The pairs of a shift are compared in three turns, so that a process is in at most one pair at a time. Returns the
 * turn of the pair (lower, lower + shift), 0 to 2. The last turn is for pairs that wrap around. */
static int turn_of(int lower, int shift, int size) { return lower >= size - shift ? 2 : lower / shift % 2; }

int db_partners(const struct db_sync_group *group, int count,
                int (*meet)(int partner, int number, int asks, void *argument), void *argument) {
    int size = group->size;
    int rank = group->rank;
    int shifts[DB_MAX_PARTNERS / 2];
    if (size < MIN_PROCESSES)
        return MPI_SUCCESS;
    int max_shifts = (size - 1) / 2;
    int drawn = draw_shifts(size, count / 2 < max_shifts ? count / 2 : max_shifts, shifts);
    for (int i = 0; i < drawn; ++i) {
        int shift = shifts[i];
        int above = (int)(((int64_t)rank + shift) % size);
        int below = rank >= shift ? rank - shift : rank - shift + size;
        for (int turn = 0; turn < 3; ++turn) {
            if (turn_of(rank, shift, size) == turn)
                DB_TRY(meet(above, i, 1, argument));
            if (turn_of(below, shift, size) == turn)
                DB_TRY(meet(below, i, 0, argument));
        }
    }
    return MPI_SUCCESS;
}
