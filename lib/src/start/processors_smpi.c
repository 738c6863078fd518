/* In a simulation every process has its own processor, whatever the simulating machine has, and they share no memory.
 */
#include "start/processors.h"

int db_processors_find(MPI_Comm comm, struct db_processors *result) {
    (void)comm;
    *result = (struct db_processors){0};
    return MPI_SUCCESS;
}

int64_t db_processors_cache(void) { return 0; }
