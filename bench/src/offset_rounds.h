#pragma once

#include "pair.h"

#include <downbeat/clock.h>
#include <mpi.h>

namespace bench {

/// Called by both ranks of the pair. The measurement with the smallest absolute offset of so many rounds (Hunold 2015,
/// section 7), at the asker; `estimator` is null for the library's default.
Downbeat_offset measure_smallest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                        int rounds);

/// The same, but the measurement with the smallest bound, whatever its offset: the least disturbed one.
Downbeat_offset measure_surest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator, int rounds);

} // namespace bench
