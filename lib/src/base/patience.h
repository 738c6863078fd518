/* Patience: how a process waits for messages. */
#ifndef DOWNBEAT_PATIENCE_H
#define DOWNBEAT_PATIENCE_H

#include "base/loss.h"

enum db_patience {
    DB_BLOCK, /* blocks or spins inside MPI: fastest, if every process has a processor */
    /* Polls for a while, then sleeps: if other programs compete for the processor, a spinning process uses up its time
     * slice in vain, and its peer does not get the processor. */
    DB_SLEEP,
    DB_YIELD /* as DB_SLEEP, and yields between polls: the peer may need the processor */
};

/* Sleeps double from the shortest to the longest. Standard: Linux ends a sleep up to 50 us late (timer_slack_ns,
 * prctl(2)), so shorter sleeps are no shorter. Derivation: a sleep of 1 ms would count as a process without a processor
 * (DB_AWAY_NS, decision.h); 0.8 ms and the slack stay below. */
#define DB_SHORTEST_SLEEP_NS 50000
#define DB_LONGEST_SLEEP_NS 800000
/* Yields before the first sleep. Choice; half and twice: not measured. The duration of a yield depends on the machine
 * and its load. */
#define DB_YIELDS_BEFORE_SLEEP 500

/* Completes a request on comm, which may be MPI_REQUEST_NULL. Returns an error if a watched communicator fails;
 * `watched` may be NULL. */
int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched);

/* MPI_Allreduce in place, and MPI_Comm_dup; they sleep if they take long. */
int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op);
int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

#endif
