#pragma once

#include "clocks/global_clock.h"
#include "mpi/communicator.h"

namespace bench {

/// Collective. Seconds between two stamps without a call between them, the largest over the ranks, at rank 0; 0
/// elsewhere. Some ten microseconds.
double measure_stamp_cost(const Communicator &comm, const GlobalClock &clock);

} // namespace bench
