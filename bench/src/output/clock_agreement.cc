#include "output/clock_agreement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace bench {

const OffsetRound &RankOffset::surest() const { return *std::ranges::min_element(rounds, {}, &OffsetRound::bound); }

ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets) {
    ClockAgreement agreement{static_cast<int>(offsets.size()), 0, 0, 0.0, 0.0};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        agreement.contradictions += offsets[i].contradictions;
        const OffsetRound &round = offsets[i].surest();
        const double allowed = offsets[i].error_bound + round.bound;
        const double offset = std::abs(round.offset);
        const bool outside = offset > allowed;
        agreement.outside += outside ? 1 : 0;
        const bool first_outside = outside && agreement.outside == 1;
        const bool comparable = outside || agreement.outside == 0;
        if (agreement.worst == 0 || first_outside || (comparable && offset > std::abs(agreement.offset))) {
            agreement.worst = static_cast<int>(i) + 1;
            agreement.offset = round.offset;
            agreement.allowed = allowed;
        }
    }
    return agreement;
}

std::string describe(const ClockAgreement &agreement) {
    if (agreement.ranks == 0) {
        return "nothing to compare it with: only one rank";
    }
    return fmt::format("at most {:.3f} us off rank 0 (rank {}), {} the bounds ({:.3f} us)",
                       std::abs(agreement.offset) * 1e6, agreement.worst, agreement.outside > 0 ? "outside" : "within",
                       agreement.allowed * 1e6);
}

} // namespace bench
