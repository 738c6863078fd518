#include "patterns/arrival_pattern.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr int fewest_ranks = 3; // of two, either would be at an end

/// A normal density over the ranks, three standard deviations to either end, moved and scaled to reach 0 and 1.
class Bell : public ArrivalPattern {
public:
    Bell(int ranks, bool inverse) : ranks_(ranks), inverse_(inverse) {}

    double share(int place, long) const override {
        const double end = density(0);
        const double share = (density(place) - end) / (density(ranks_ / 2) - end);
        return inverse_ ? 1.0 - share : share;
    }

private:
    double density(int place) const {
        const double middle = (ranks_ - 1) / 2.0;
        const double deviations = 3.0 * (place - middle) / middle;
        return std::exp(-0.5 * deviations * deviations);
    }

    int ranks_;
    bool inverse_;
};

std::unique_ptr<ArrivalPattern> make(const PatternArguments &arguments, bool inverse) {
    if (arguments.ranks < fewest_ranks) {
        throw Error::usage(fmt::format("arrival pattern {} needs at least {} ranks; there are {}",
                                       arguments.component.name(), fewest_ranks, arguments.ranks));
    }
    return std::make_unique<Bell>(arguments.ranks, inverse);
}

} // namespace

PatternInfo patterns::bell() {
    return {{"bell", "ranks in the middle late, those at both ends on time, following a normal density", "", {}},
            false,
            [](const PatternArguments &arguments) { return make(arguments, false); }};
}

PatternInfo patterns::inverse_bell() {
    return {{"inverse_bell", "ranks at both ends late, those in the middle on time", "", {}},
            false,
            [](const PatternArguments &arguments) { return make(arguments, true); }};
}

} // namespace bench
