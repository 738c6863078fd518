/* Cache lines of shared memory through which processes of a node tell each other a few words: one process writes a
 * line, others wait for its next round.
 *
 * The words are plain, the round is released after them and acquired before they are read. Nobody writes a line again
 * before all who wait for its round have answered, so one line for each direction is enough. */
#ifndef DOWNBEAT_MAILBOX_H
#define DOWNBEAT_MAILBOX_H

#include "base/message.h"

#include <stdatomic.h>
#include <stdint.h>

/* Standard: a line of x86-64 and of most AArch64 processors; the round takes one word of it. */
#define DB_CACHE_LINE 64
#define DB_MAILBOX_WORDS 7

struct db_mailbox {
    /* Processors fetch lines in pairs. */
    _Alignas(2 * DB_CACHE_LINE) _Atomic uint32_t round;
    int64_t words[DB_MAILBOX_WORDS];
    _Alignas(DB_CACHE_LINE) _Atomic uint32_t sleepers; /* only sleeping processes write it, so it has its own line */
};

/* Writes the words of a round. `channel`: that of the processes that wait, for their patience. */
void db_mailbox_publish(struct db_mailbox *mailbox, uint32_t round, const int64_t *words, int count,
                        const struct db_channel *channel);

/* Waits for a round, and reads its words. Meanwhile drives MPI's messages, as MPI_Barrier would: a neighbor may be
 * waiting for one that this process has begun to send. Returns an MPI error code. */
int db_mailbox_await(struct db_mailbox *mailbox, uint32_t round, int64_t *words, int count,
                     const struct db_channel *channel);

#endif
