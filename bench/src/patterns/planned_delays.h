#pragma once

#include "patterns/arrival_pattern.h"

#include <memory>
#include <vector>

namespace bench {

/// The planned start of one rank in each call of a cell: from a pattern, its largest delay, and the rank's place in it.
class PlannedDelays {
public:
    /// `delay` in seconds.
    PlannedDelays(std::shared_ptr<const ArrivalPattern> pattern, double delay, int place);

    /// Seconds after the common start, for `count` calls from `first` on.
    std::vector<double> of_calls(long first, long count) const;

    double largest() const { return delay_; }

private:
    std::shared_ptr<const ArrivalPattern> pattern_;
    double delay_;
    int place_;
};

/// The place of every rank in a pattern: a permutation that the seed decides.
std::vector<int> permuted_places(int ranks, std::uint64_t seed);

} // namespace bench
