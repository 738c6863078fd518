/* In a simulation every process has its own processor, however many run on the machine that simulates. */
#include "start/processors.h"

int db_processors_oversubscribed(MPI_Comm comm, int *oversubscribed) {
    (void)comm;
    *oversubscribed = 0;
    return MPI_SUCCESS;
}
