/* How a process waits inside MPI. */
#ifndef DOWNBEAT_PATIENCE_H
#define DOWNBEAT_PATIENCE_H

#include "base/loss.h"

enum db_patience {
    DB_BLOCK, /* fastest, where every process has a processor */
    /* Polls for a while, then sleeps: if other programs want the processor, a process that spins uses up its time slice
       for nothing, and the peer that it waits for finds the processor gone. */
    DB_SLEEP,
    DB_YIELD /* the same, and yields between polls: the peer may need the processor */
};

/* A sleep of a process that waits: the first, and the longest after doublings. Standard: Linux ends a sleep up to 50 us
 * late (timer_slack_ns, prctl(2)), so a shorter one is no shorter. Derivation: a sleep of 1 ms would count as a process
 * without a processor (DB_AWAY_NS, decision.h); 0.8 ms and the slack stay below. */
#define DB_SHORTEST_SLEEP_NS 50000
#define DB_LONGEST_SLEEP_NS 800000
/* Yields before the first sleep. Choice; half and twice: not measured. What a yield takes depends on the machine, and
 * on the other processes. */
#define DB_YIELDS_BEFORE_SLEEP 500

/* Completes a request of comm, which may be MPI_REQUEST_NULL; with an error, once what is watched (or NULL) is lost. */
int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched);

/* MPI_Allreduce from `words` to itself, and MPI_Comm_dup; asleep if they take long. */
int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op);
int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

#endif
