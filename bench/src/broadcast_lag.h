#pragma once

#include "communicator.h"
#include "global_clock.h"

namespace bench {

/// Collective. Seconds from rank 0's looking at the clock until a rank has received the time it saw: the mean of ten
/// broadcasts, each behind a barrier, for the slowest rank. The same on all ranks. `messages` is a duplicate of `comm`.
double measure_broadcast_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages);

} // namespace bench
