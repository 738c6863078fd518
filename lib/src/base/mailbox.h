/* Mailboxes: cache lines of shared memory by which processes of a node exchange a few words. One process writes a line;
 * other processes wait for it. A round is the number of an exchange; it tells the reader whether the words are new.
 *
 * The words are plain; the round is stored with release semantics after them and loaded with acquire semantics before
 * them. A line is written again only after all its readers have answered, so one line per direction is enough. */
#ifndef DOWNBEAT_MAILBOX_H
#define DOWNBEAT_MAILBOX_H

#include "base/message.h"

#include <stdatomic.h>
#include <stdint.h>

/* Bytes of a cache line on x86-64 and on most AArch64 processors. Of its eight 64-bit words, the round takes one. */
#define DB_CACHE_LINE 64
#define DB_MAILBOX_WORDS 7

/* A mailbox: words with the number of the round to which they belong. */
struct db_mailbox {
    /* Aligned to two lines, because processors prefetch lines in pairs. */
    _Alignas(2 * DB_CACHE_LINE) _Atomic uint32_t round;
    int64_t words[DB_MAILBOX_WORDS];
    _Alignas(DB_CACHE_LINE) _Atomic uint32_t
        sleepers; /* number of sleeping readers; on a separate line, since only they write it */
};

/* Writes `count` words and then the round. `channel` has the patience (patience.h) with which the readers wait. */
void db_mailbox_publish(struct db_mailbox *mailbox, uint32_t round, const int64_t *words, int count,
                        const struct db_channel *channel);

/* Waits for a round and reads its `count` words. Meanwhile drives MPI's progress, as MPI_Barrier would: a neighbor may
 * be blocked on a message that this process has begun to send. Returns an MPI error code. */
int db_mailbox_await(struct db_mailbox *mailbox, uint32_t round, int64_t *words, int count,
                     const struct db_channel *channel);

#endif
