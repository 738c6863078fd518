/* Patience: how a process waits for messages. The library blocks if every process has a processor; otherwise it polls,
 * yields and sleeps, so that peers get the processor. */
#ifndef DOWNBEAT_PATIENCE_H
#define DOWNBEAT_PATIENCE_H

#include "base/loss.h"

/* How a process waits. */
enum db_patience {
    DB_BLOCK, /* blocks or spins inside MPI: fastest, if every process has a processor */
    /* Polls for a while, then sleeps: if other programs compete for the processor, a spinning process uses up its time
     * slice in vain, and its peer does not get the processor. */
    DB_SLEEP,
    DB_YIELD /* like DB_SLEEP, but also yields between polls, because the peer may need this processor */
};

/* Duration of the first sleep of a wait, and the maximum; each sleep is twice as long as the one before. Minimum: Linux
 * ends a sleep up to 50 us late (timer_slack_ns, prctl(2)), so shorter sleeps take as long. Maximum: a sleep of 1 ms
 * would count as a process without a processor (DB_DESCHEDULED_NS, decision.h); 0.8 ms and 50 us stay below. */
#define DB_MIN_SLEEP_NS 50000
#define DB_MAX_SLEEP_NS 800000
/* Yields before the first sleep with DB_YIELD. Chosen by hand; half and twice the value are not measured. The duration
 * of a yield depends on the machine and its load. */
#define DB_YIELDS_BEFORE_SLEEP 500

/* Waits for a request on comm; the request may be MPI_REQUEST_NULL. If a watched communicator fails, revokes comm and
 * returns an error. `watched` may be NULL. */
int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched);

/* Like MPI_Allreduce in place and MPI_Comm_dup, but a long wait sleeps. */
int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op);
int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

#endif
