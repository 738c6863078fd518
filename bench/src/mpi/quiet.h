#pragma once

#include "mpi/communicator.h"

#include <mpi.h>
#include <vector>

namespace bench {

// Waits that leave the processor to others. While two ranks compare their clocks, a third that spins in MPI takes
// processor time from them wherever there are more ranks than processors, and MPICH 4.0.2 costs 12 ms per blocking call
// there.

/// Completes the request: polls, yields, then sleeps between polls, up to a millisecond.
void wait_quietly(MPI_Request *request);

/// Collective.
void barrier_quietly(const Communicator &comm);

/// Collective. Rank 0's value.
long broadcast_quietly(const Communicator &comm, long value);

/// Collective. Values of all ranks, as [rank][value], at rank 0; nothing elsewhere. Every rank brings as many.
std::vector<double> gather_quietly(const Communicator &comm, const std::vector<double> &values);

/// Called by rank 0 and by `source`, which may be rank 0. Rank 0 gets the values of `source`; it knows how many.
void bring_to_root(const Communicator &comm, int source, std::vector<double> &values);

} // namespace bench
