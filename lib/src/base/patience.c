/* Waits for MPI requests with patience (patience.h): by polls, yields and sleeps. */
#define _POSIX_C_SOURCE 200809L
#include "base/patience.h"

#include "base/error.h"

#include <sched.h>
#include <stddef.h>
#include <time.h>

/* Polls before the first sleep with DB_SLEEP: about DB_DESCHEDULED_NS (decision.h) at 50 ns per MPI_Test. Depends on
 * the machine. A longer wait is for the process's turn in a synchronization, for the next fit point, or for a peer
 * without a processor. A waiting process that never sleeps would lengthen the round trips of the pair that is being
 * measured. It does not sleep earlier, because a sleep costs more than any message, and on a loaded machine processes
 * get their processors at scheduler ticks, mostly at the same ones. */
#define POLLS_BEFORE_SLEEP 20000
/* Polls or yields between two checks for failed processes, which take longer than a poll. They are counted across
 * calls, because a synchronization has thousands of short waits. Chosen by hand: some 50 us. Half or twice the value
 * detects failures in half or twice that time. */
#define POLLS_PER_CHECK 1000
#define YIELDS_PER_CHECK 50
static _Thread_local unsigned polls_since_check;

/* Checks for failed processes if a check is due: always before a sleep, else after enough polls. */
static int is_lost(const struct db_watched *watched, enum db_patience patience, int asleep) {
    if (watched == NULL)
        return 0;
    if (!asleep && ++polls_since_check < (patience == DB_YIELD ? YIELDS_PER_CHECK : POLLS_PER_CHECK))
        return 0;
    polls_since_check = 0;
    return db_loss_watch(watched) != MPI_SUCCESS;
}

int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched) {
    if (patience == DB_BLOCK && watched == NULL)
        return MPI_Wait(request, MPI_STATUS_IGNORE);
    const unsigned before_sleep = patience == DB_YIELD ? DB_YIELDS_BEFORE_SLEEP : POLLS_BEFORE_SLEEP;
    long sleep_ns = DB_MIN_SLEEP_NS;
    for (unsigned polls = 0;; ++polls) {
        int done;
        DB_TRY(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return MPI_SUCCESS;
        int asleep = patience != DB_BLOCK && polls >= before_sleep;
        if (is_lost(watched, patience, asleep))
            db_loss_revoke(comm); /* completes the request, with an error */
        if (asleep) {
            nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
            sleep_ns = 2 * sleep_ns < DB_MAX_SLEEP_NS ? 2 * sleep_ns : DB_MAX_SLEEP_NS;
        } else if (patience == DB_YIELD) {
            sched_yield();
        }
    }
}

int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op) {
    MPI_Request request;
    DB_TRY(MPI_Iallreduce(MPI_IN_PLACE, words, count, type, op, comm, &request));
    return db_await(&request, DB_SLEEP, comm, NULL);
}

int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate) {
    MPI_Request request;
    DB_TRY(MPI_Comm_idup(comm, duplicate, &request));
    return db_await(&request, DB_SLEEP, comm, NULL);
}
