#include "clock_agreement.h"

#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace bench {

ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets) {
    ClockAgreement agreement{static_cast<int>(offsets.size()), 0, 0, 0.0, 0.0};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const double offset = std::abs(offsets[i].offset);
        const bool outside = offset > offsets[i].allowed();
        agreement.outside += outside ? 1 : 0;
        const bool first_outside = outside && agreement.outside == 1;
        const bool comparable = outside || agreement.outside == 0;
        if (agreement.worst == 0 || first_outside || (comparable && offset > std::abs(agreement.offset))) {
            agreement.worst = static_cast<int>(i) + 1;
            agreement.offset = offsets[i].offset;
            agreement.allowed = offsets[i].allowed();
        }
    }
    return agreement;
}

std::string describe(const ClockAgreement &agreement) {
    if (agreement.ranks == 0) {
        return "there is no other to compare it with";
    }
    return fmt::format("measured {:.3f} us off rank 0's at most (rank {}), {} the bounds ({:.3f} us)",
                       std::abs(agreement.offset) * 1e6, agreement.worst, agreement.outside > 0 ? "outside" : "within",
                       agreement.allowed * 1e6);
}

} // namespace bench
