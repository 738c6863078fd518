#include "offset_rounds.h"

#include "mpi_check.h"

#include <cmath>

namespace bench {

namespace {

template <typename Better>
Downbeat_offset measure_best(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator, int rounds,
                             Better better) {
    Downbeat_offset best{};
    for (int round = 0; round < rounds; ++round) {
        Downbeat_offset found{};
        check(Downbeat_measure(comm, pair.asker, pair.answerer, timeline, estimator, &found), "Downbeat_measure");
        if (round == 0 || better(found, best)) {
            best = found;
        }
    }
    return best;
}

} // namespace

Downbeat_offset measure_smallest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                        int rounds) {
    return measure_best(
        comm, pair, timeline, estimator, rounds,
        [](const Downbeat_offset &a, const Downbeat_offset &b) { return std::abs(a.offset) < std::abs(b.offset); });
}

Downbeat_offset measure_surest_offset(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                      int rounds) {
    return measure_best(comm, pair, timeline, estimator, rounds,
                        [](const Downbeat_offset &a, const Downbeat_offset &b) { return a.bound < b.bound; });
}

} // namespace bench
