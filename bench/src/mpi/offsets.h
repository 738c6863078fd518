// Measures clock offsets between pairs of ranks, one pair after another, while all other ranks sleep. The "quiet"
// collectives sleep while they wait, so that other ranks get the processor: a third rank that spins in MPI would take
// processor time from the two ranks that compare their clocks if there are more ranks than processors (MPICH 4.0.2: 12
// ms per blocking call).
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

/// Completes the request: polls, yields the processor, then sleeps between polls for up to 1 ms. In a simulation,
/// where waiting takes no processor, it is MPI_Wait.
void wait_quietly(MPI_Request *request);

/// Collective. MPI_Barrier, waiting quietly.
void barrier_quietly(const Communicator &comm);

/// Collective. Returns rank 0's value on all ranks.
long broadcast_quietly(const Communicator &comm, long value);

/// Collective. Returns the values of all ranks on rank 0, as [rank][value], and an empty vector on other ranks. All
/// ranks pass the same number of values.
std::vector<double> gather_quietly(const Communicator &comm, const std::vector<double> &values);

/// Collective. Sends the values of rank `source` to rank 0; does nothing on other ranks, or if `source` is 0. On rank
/// 0, `values` must already have the size of the message, unless `source` is 0.
void send_to_root(const Communicator &comm, int source, std::vector<double> &values);

/// Collective. Runs `work` for one pair at a time, so that pairs do not disturb each other; all other ranks wait
/// quietly. Both ranks of the pair call `work` with the pair and its index in `pairs`. A rank returns when its last
/// pair is done.
void take_turns(const Communicator &comm, const std::vector<Pair> &pairs,
                const std::function<void(std::size_t, const Pair &)> &work);

/// Called by both ranks of the pair. Measures the offset of the answerer's clock to the asker's `rounds` times. The
/// results are valid on the asker. `timeline`: DOWNBEAT_LOCAL or DOWNBEAT_GLOBAL clocks. `estimator`: a component of
/// libdownbeat; null for its default.
std::vector<Downbeat_offset> measure_offsets(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                             int rounds);

/// Like measure_offsets; returns only the result that is nearest to zero (Hunold 2015, section 7).
Downbeat_offset measure_offset_nearest_zero(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                            int rounds);

/// Like measure_offsets; returns only the result with the smallest error bound, i.e. the least disturbed.
Downbeat_offset measure_offset_with_smallest_bound(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                                   int rounds);

/// Collective. Measures the offsets of the ranks' global clocks to rank 0's global clock, without synchronizing. Rank 0
/// gets an element for each of ranks 1, 2, ...; other ranks get an empty vector.
std::vector<RankOffset> measure_agreement(const Communicator &comm, const GlobalClock &clock);

} // namespace bench
