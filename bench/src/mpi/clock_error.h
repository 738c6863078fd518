#pragma once

#include <mpi.h>

namespace bench {

/// Error of a rank's readings of a global clock against rank 0's, in seconds.
struct ClockError {
    double bound = 0.0;    // hard
    double expected = 0.0; // one standard deviation
};

/// Local. The error of libdownbeat's clock for a communicator, from the last synchronization until now.
ClockError read_clock_error(MPI_Comm comm);

/// The error of two clocks in a chain: bounds add up, independent errors add in quadrature.
ClockError chained(const ClockError &a, const ClockError &b);

/// The larger of each.
ClockError larger(const ClockError &a, const ClockError &b);

} // namespace bench
