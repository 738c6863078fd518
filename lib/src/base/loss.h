/* Process failures that the program survives (User-Level Failure Mitigation; Open MPI 5 with --with-ft ulfm). If MPI
 * ends the program after a failure instead, these functions return MPI_SUCCESS and do nothing.
 *
 * MPI reports a failure only to processes that communicate with the failed one; the others keep waiting for peers that
 * have returned with the error. A program that revokes its communicator does not revoke the library's duplicate. So
 * every wait checks both communicators periodically. */
#ifndef DOWNBEAT_LOSS_H
#define DOWNBEAT_LOSS_H

#include <mpi.h>

/* The communicators whose failure or revocation ends all waits. */
struct db_watched {
    MPI_Comm user;      /* the communicator of the call */
    MPI_Comm duplicate; /* its private duplicate: a process that detects a failure revokes it, which wakes the others */
};

/* True if the program survives a process failure. Local; the same on all processes. */
int db_loss_survived(void);

/* Returns MPI_SUCCESS, or the error class MPIX_ERR_REVOKED or MPIX_ERR_PROC_FAILED if no collective operation on comm
 * can succeed any more. Local. */
int db_loss_of(MPI_Comm comm);

/* Checks both watched communicators like db_loss_of, and revokes the duplicate if one has failed. Returns MPI_SUCCESS
 * if `watched` is NULL. Call it about every 100 us in loops that wait outside MPI, together with a call that drives
 * MPI's progress, such as MPI_Iprobe. */
int db_loss_watch(const struct db_watched *watched);

/* Revokes comm: all later calls on it fail, on all processes. */
void db_loss_revoke(MPI_Comm comm);

/* Frees a communicator of the library, and revokes it first if `code` is an error. Returns `code`. */
int db_loss_free(MPI_Comm *comm, int code);

#endif
