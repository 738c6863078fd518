#include "mpi/clock_error.h"

#include "mpi/mpi_check.h"

#include <algorithm>
#include <cmath>
#include <mpix_harmonize.h>

namespace bench {

ClockError read_clock_error(MPI_Comm comm) {
    MPIX_Harmonize_stats stats; // both by one reading of the clock
    check(MPIX_Harmonize_get_stats(comm, &stats), "MPIX_Harmonize_get_stats");
    return {stats.error_bound, stats.expected_error};
}

ClockError chained(const ClockError &a, const ClockError &b) {
    return {a.bound + b.bound, std::hypot(a.expected, b.expected)};
}

ClockError larger(const ClockError &a, const ClockError &b) {
    return {std::max(a.bound, b.bound), std::max(a.expected, b.expected)};
}

} // namespace bench
