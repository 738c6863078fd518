#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "output/context.h"
#include "text/parse.h"

#include <cstddef>
#include <downbeat/clock.h>
#include <functional>
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

/// Collective. Lets one pair after another work, so that pairs do not disturb each other; all other ranks wait quietly.
/// `work` is called on both ranks of the pair with the pair's position in the list. Ranks return when their
/// last pair is done.
void take_turns(const Communicator &comm, const std::vector<Pair> &pairs,
                const std::function<void(std::size_t, const Pair &)> &work);

/// Called by both ranks of the pair. `rounds` measurements of the offset, one after another, at the asker; `estimator`
/// is null for the library's default.
std::vector<Downbeat_offset> measure_offsets(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                             int rounds);

/// The one of these with the smallest absolute offset (Hunold 2015, section 7).
Downbeat_offset measure_smallest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                        int rounds);

/// The one of these with the smallest bound, i.e. the least disturbed.
Downbeat_offset measure_surest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator, int rounds);

/// Collective. The offsets of all global clocks to rank 0's as they are, without synchronizing: of ranks 1, 2, ... at
/// rank 0; nothing elsewhere.
std::vector<RankOffset> measure_agreement(const Communicator &comm, const GlobalClock &clock);

} // namespace bench
