/* Mailboxes in shared memory (mailbox.h): writing a line, and waiting for it by polls, yields and short sleeps. */
#define _GNU_SOURCE
#include "base/mailbox.h"

#include "base/error.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Polls between two calls into MPI's progress engine: about 10 us, at 1 ns each. Chosen by hand: an MPI call costs the
 * waiter at least 0.1 us, 1 % of the wait. Half the value costs 2 %; with twice the value, messages of the application
 * wait up to 20 us. Depends on the machine. */
#define POLLS_PER_TURN 8192
/* MPI calls between two checks for failed processes, which cost more than a call. Chosen by hand: a check about every
 * 0.2 ms. Half or twice the value detects failures in half or twice that time. */
#define TURNS_PER_CHECK 16
/* Polls before the first sleep; they take about DB_DESCHEDULED_NS (decision.h). Depends on the machine. A write to the
 * line wakes a sleeper; a pending MPI message does not, so sleeps are short (patience.h). */
#define POLLS_BEFORE_SLEEP (1 << 20)
/* Polls between two yields of the processor. Chosen by hand: a yield takes longer than 16 polls, so half or twice the
 * value makes no difference. */
#define POLLS_PER_YIELD 16

void db_mailbox_publish(struct db_mailbox *mailbox, uint32_t round, const int64_t *words, int count,
                        const struct db_channel *channel) {
    memcpy(mailbox->words, words, (size_t)count * sizeof *words);
    atomic_store_explicit(&mailbox->round, round, memory_order_release);
    if (db_patience_of(channel) == DB_BLOCK)
        return;
    /* The fence and the atomic increment in sleep_for ensure that this process reads the incremented `sleepers`, or the
     * sleeper reads the new round and does not sleep. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&mailbox->sleepers, memory_order_relaxed) != 0)
        syscall(SYS_futex, &mailbox->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Returns 1 if the words of the round are in the mailbox. */
static int has_arrived(struct db_mailbox *mailbox, uint32_t round) {
    /* Equality suffices: the writer waits for all readers before its next round. */
    return atomic_load_explicit(&mailbox->round, memory_order_acquire) == round;
}

/* Polls up to `polls` times. Returns 1 if the round has arrived. */
static int poll(struct db_mailbox *mailbox, uint32_t round, long polls) {
    for (long i = 0; i < polls; ++i)
        if (has_arrived(mailbox, round))
            return 1;
    return 0;
}

/* Sleeps until the writer wakes this process, but at most `ns`; not at all if the round has arrived. */
static void sleep_for(struct db_mailbox *mailbox, uint32_t round, long ns) {
    atomic_fetch_add(&mailbox->sleepers, 1);
    uint32_t now = atomic_load(&mailbox->round);
    if (now != round)
        syscall(SYS_futex, &mailbox->round, FUTEX_WAIT, now, &(struct timespec){.tv_nsec = ns}, NULL, 0);
    atomic_fetch_sub(&mailbox->sleepers, 1);
}

/* Calls MPI, because any call into MPI drives the progress of all messages. Each TURNS_PER_CHECK-th turn also checks
 * for failed processes. */
static int drive_messages(const struct db_channel *channel, long turn) {
    int pending;
    if (channel->comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    if (channel->watched != NULL && turn % TURNS_PER_CHECK == 0)
        DB_TRY(db_loss_watch(channel->watched));
    return MPI_Iprobe(MPI_ANY_SOURCE, 0, channel->comm, &pending, MPI_STATUS_IGNORE);
}

/* Waits in turns: each turn polls, drives messages, and then spins on (DB_BLOCK), yields or sleeps, by the patience.
 * DB_BLOCK does not block here. */
static int wait_long(struct db_mailbox *mailbox, uint32_t round, const struct db_channel *channel) {
    const enum db_patience patience = db_patience_of(channel);
    const long polls = patience == DB_YIELD ? POLLS_PER_YIELD : POLLS_PER_TURN;
    long polls_before_sleep = patience == DB_YIELD ? DB_YIELDS_BEFORE_SLEEP * POLLS_PER_YIELD : POLLS_BEFORE_SLEEP;
    long sleep_ns = DB_MIN_SLEEP_NS;
    for (long turn = 1; !poll(mailbox, round, polls); ++turn) {
        DB_TRY(drive_messages(channel, turn));
        if (patience == DB_BLOCK)
            continue;
        polls_before_sleep -= polls;
        if (polls_before_sleep <= 0) {
            sleep_for(mailbox, round, sleep_ns);
            sleep_ns = 2 * sleep_ns < DB_MAX_SLEEP_NS ? 2 * sleep_ns : DB_MAX_SLEEP_NS;
        } else if (patience == DB_YIELD) {
            sched_yield();
        }
    }
    return MPI_SUCCESS;
}

int db_mailbox_await(struct db_mailbox *mailbox, uint32_t round, int64_t *words, int count,
                     const struct db_channel *channel) {
    if (!has_arrived(mailbox, round))
        DB_TRY(wait_long(mailbox, round, channel));
    memcpy(words, mailbox->words, (size_t)count * sizeof *words);
    return MPI_SUCCESS;
}
