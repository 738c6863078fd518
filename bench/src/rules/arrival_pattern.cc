#include "rules/arrival_pattern.h"

#include "rules/shuffle.h"

#include <numeric>
#include <utility>

namespace bench {

const std::vector<PatternInfo> &all_patterns() {
    static const std::vector<PatternInfo> all = [] {
        std::vector<PatternInfo> found = patterns::shapes();
        const std::vector<PatternInfo> drawn = patterns::random();
        found.insert(found.end(), drawn.begin(), drawn.end());
        found.push_back(patterns::trace());
        return found;
    }();
    return all;
}

PlannedDelays::PlannedDelays(std::shared_ptr<const ArrivalPattern> pattern, double delay, int place)
    : pattern_(std::move(pattern)), delay_(delay), place_(place) {}

std::vector<double> PlannedDelays::of_calls(long first, long count) const {
    std::vector<double> delays(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < delays.size(); ++i) {
        delays[i] = delay_ > 0.0 ? delay_ * pattern_->share(place_, first + static_cast<long>(i)) : 0.0;
    }
    return delays;
}

std::vector<int> permuted_places(int ranks, std::uint64_t seed) {
    std::vector<int> places(static_cast<std::size_t>(ranks));
    std::iota(places.begin(), places.end(), 0);
    std::mt19937_64 random(seed);
    shuffle(places, random);
    return places;
}

} // namespace bench
