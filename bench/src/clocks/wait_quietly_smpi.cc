#include "clocks/quiet.h"
#include "mpi/mpi_check.h"

namespace bench {

// A simulated rank that waits takes no processor time from others.
void wait_quietly(MPI_Request *request) { check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait"); }

} // namespace bench
