/* Processes that are lost, where MPI goes on without them (User-Level Failure Mitigation; Open MPI 5 with --with-ft
 * ulfm). Elsewhere MPI ends the program, and nothing here costs or does anything.
 *
 * MPI reports a loss to those whose messages it concerns. The others wait for these, which have left with the error;
 * and who revokes a communicator does not know of the library's duplicate of it. So all waits look, now and then, at
 * both. */
#ifndef DOWNBEAT_LOSS_H
#define DOWNBEAT_LOSS_H

#include <mpi.h>

/* The communicators whose end is the end of all waits. */
struct db_watched {
    MPI_Comm user; /* that of the call */
    MPI_Comm own;  /* its private duplicate: whoever notices a loss revokes it, for the others */
};

/* Whether MPI goes on. Local; the same on all processes. */
int db_loss_survived(void);

/* MPI_SUCCESS, or why no collective operation of comm can succeed any more: the class MPIX_ERR_REVOKED or
 * MPIX_ERR_PROC_FAILED. Local. */
int db_loss_of(MPI_Comm comm);

/* The same of what is watched, which it revokes if it is lost; a NULL is never lost. Call it in loops that wait without
 * MPI, every 100 us or so, and something that makes MPI go on, as MPI_Iprobe does. */
int db_loss_watch(const struct db_watched *watched);

/* Makes all calls on comm fail, on all processes. */
void db_loss_revoke(MPI_Comm comm);

/* Frees a communicator of the library; if `code`, which is returned, is an error, after revoking it. */
int db_loss_free(MPI_Comm *comm, int code);

#endif
