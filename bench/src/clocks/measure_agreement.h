#pragma once

#include "context/clock_agreement.h"
#include "mpi/communicator.h"

#include <vector>

namespace bench {

/// Collective. The offsets of all global clocks to rank 0's as they are, without synchronizing: of ranks 1, 2, ... at
/// rank 0; nothing elsewhere.
std::vector<RankOffset> measure_agreement(const Communicator &comm);

} // namespace bench
