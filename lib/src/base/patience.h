/* How a process waits inside MPI. */
#ifndef DOWNBEAT_PATIENCE_H
#define DOWNBEAT_PATIENCE_H

#include <mpi.h>

enum db_patience {
    DB_BLOCK, /* fastest, where every process has a processor */
    /* Looks for a while, then sleeps: where other programs want the processor, who spins uses up its time slice for
     * nothing, and the one that it waits for finds it gone. */
    DB_SLEEP,
    DB_YIELD /* the same, and gives the processor away between looks: the one that it waits for may need it */
};

/* Completes what was begun; `request` may be MPI_REQUEST_NULL. */
int db_await(MPI_Request *request, enum db_patience patience);

/* MPI_Allreduce from `words` to itself, and MPI_Comm_dup, asleep where they take long. */
int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op);
int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

#endif
