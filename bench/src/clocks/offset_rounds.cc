#include "clocks/offset_rounds.h"

#include "mpi/mpi_check.h"

#include <algorithm>
#include <cmath>

namespace bench {

std::vector<Downbeat_offset> measure_offsets(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                             int rounds) {
    std::vector<Downbeat_offset> found(static_cast<std::size_t>(rounds));
    for (Downbeat_offset &one : found) {
        check(Downbeat_measure(comm, pair.asker, pair.answerer, timeline, estimator, &one), "Downbeat_measure");
    }
    return found;
}

Downbeat_offset measure_smallest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                        int rounds) {
    const std::vector<Downbeat_offset> found = measure_offsets(comm, pair, timeline, estimator, rounds);
    return *std::min_element(found.begin(), found.end(), [](const Downbeat_offset &a, const Downbeat_offset &b) {
        return std::abs(a.offset) < std::abs(b.offset);
    });
}

Downbeat_offset measure_surest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                      int rounds) {
    const std::vector<Downbeat_offset> found = measure_offsets(comm, pair, timeline, estimator, rounds);
    return *std::min_element(found.begin(), found.end(),
                             [](const Downbeat_offset &a, const Downbeat_offset &b) { return a.bound < b.bound; });
}

} // namespace bench
