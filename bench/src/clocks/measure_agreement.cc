#include "clocks/measure_agreement.h"

#include "clocks/offset_rounds.h"
#include "clocks/quiet.h"
#include "clocks/turns.h"
#include "mpi/mpi_check.h"

#include <cmath>
#include <downbeat/clock.h>
#include <mpix_harmonize.h>

namespace bench {
namespace {

// A delayed message widens the bound of its round; judge_clocks takes the round with the narrowest.
constexpr int rounds = 3;

} // namespace

std::vector<RankOffset> measure_agreement(const Communicator &comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::vector<OffsetRound>> found(ranks);
    std::vector<Pair> pairs;
    for (int rank = 1; rank < comm.size(); ++rank) {
        pairs.push_back({0, rank});
    }
    take_turns(comm, pairs, [&](std::size_t, const Pair &pair) {
        for (const Downbeat_offset &one : measure_offsets(comm.handle(), pair, DOWNBEAT_GLOBAL, nullptr, rounds)) {
            found[static_cast<std::size_t>(pair.answerer)].push_back({one.offset, one.bound});
        }
    });
    double bound = 0.0; // after the measurement, so that it covers the drift until then
    check(MPIX_Harmonize_error_bound(comm.handle(), &bound), "MPIX_Harmonize_error_bound");
    const std::vector<double> bounds = gather_quietly(comm, {bound});
    MPIX_Harmonize_stats stats{};
    check(MPIX_Harmonize_get_stats(comm.handle(), &stats), "MPIX_Harmonize_get_stats");
    const std::vector<double> counts = gather_quietly(comm, {static_cast<double>(stats.contradictions)});
    std::vector<RankOffset> offsets;
    for (std::size_t rank = 1; rank < bounds.size(); ++rank) {
        offsets.push_back({found[rank], bounds[rank], std::llround(counts[rank])});
    }
    return offsets;
}

} // namespace bench
