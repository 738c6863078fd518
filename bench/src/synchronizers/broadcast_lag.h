#pragma once

#include "clocks/global_clock.h"
#include "mpi/communicator.h"

namespace bench {

/// Collective. Seconds from rank 0's clock reading until a rank has received it: the mean of ten broadcasts, each after
/// a barrier, for the slowest rank. The same on all ranks. `messages` is a duplicate of `comm`.
double measure_broadcast_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages);

} // namespace bench
