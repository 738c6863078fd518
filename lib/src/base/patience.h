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

/* Completes a request of comm, which may be MPI_REQUEST_NULL; with an error, once what is watched (or NULL) is lost. */
int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched);

/* MPI_Allreduce from `words` to itself, and MPI_Comm_dup; asleep if they take long. */
int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op);
int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

#endif
