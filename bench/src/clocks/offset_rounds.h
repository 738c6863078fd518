#pragma once

#include "text/pair.h"

#include <downbeat/clock.h>
#include <mpi.h>
#include <vector>

namespace bench {

/// Called by both ranks of the pair. `rounds` measurements of the offset, one after another, at the asker; `estimator`
/// is null for the library's default.
std::vector<Downbeat_offset> measure_offsets(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                             int rounds);

/// Of these the one with the smallest absolute offset, as Hunold 2015, section 7 takes it.
Downbeat_offset measure_smallest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                        int rounds);

/// Of these the one with the smallest bound, regardless of its offset: the least disturbed one.
Downbeat_offset measure_surest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator, int rounds);

} // namespace bench
