/* patience.c for simulations: waits only block, because every simulated process has a processor, and SMPI has no
 * MPI_Comm_idup. */
#include "base/patience.h"

int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched) {
    (void)patience;
    (void)comm;
    (void)watched;
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op) {
    return MPI_Allreduce(MPI_IN_PLACE, words, count, type, op, comm);
}

int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate) { return MPI_Comm_dup(comm, duplicate); }
