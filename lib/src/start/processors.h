/* Whether there are enough processors for the processes. */
#ifndef DOWNBEAT_PROCESSORS_H
#define DOWNBEAT_PROCESSORS_H

#include <mpi.h>

/* Sets `oversubscribed` to 1, on all processes of comm, if on any node more of them run than there are processors that
 * they may run on. Collective. */
int db_processors_oversubscribed(MPI_Comm comm, int *oversubscribed);

#endif
