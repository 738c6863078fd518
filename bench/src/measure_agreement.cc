#include "measure_agreement.h"

#include "mpi_check.h"
#include "offset_rounds.h"
#include "quiet.h"
#include "turns.h"

#include <downbeat/clock.h>
#include <mpix_harmonize.h>

namespace bench {
namespace {

// One disturbed measurement must not look like a clock that is off.
constexpr int rounds = 3;

} // namespace

std::vector<RankOffset> measure_agreement(const Communicator &comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<Downbeat_offset> found(ranks);
    std::vector<Pair> pairs;
    for (int rank = 1; rank < comm.size(); ++rank) {
        pairs.push_back({0, rank});
    }
    take_turns(comm, pairs, [&](std::size_t, const Pair &pair) {
        found[static_cast<std::size_t>(pair.answerer)] =
            measure_smallest_offset(comm.handle(), pair, DOWNBEAT_GLOBAL, nullptr, rounds);
    });
    double bound = 0.0; // after the measurement, so that it covers the drift until then
    check(MPIX_Harmonize_error_bound(comm.handle(), &bound), "MPIX_Harmonize_error_bound");
    const std::vector<double> bounds = gather_quietly(comm, {bound});
    std::vector<RankOffset> offsets;
    for (std::size_t rank = 1; rank < bounds.size(); ++rank) {
        offsets.push_back({found[rank].offset, found[rank].bound, bounds[rank]});
    }
    return offsets;
}

} // namespace bench
