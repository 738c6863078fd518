#include "rules/round_trips.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace bench {
namespace {

constexpr double agreement = 1.25; // well below the factor between two states of a machine

} // namespace

double time_round_trips(const RoundTripBatches &trips) {
    std::vector<double> times;
    double now = trips.clock();
    const double end = now + trips.longest;
    for (int i = 0; i <= trips.batches && now < end; ++i) {
        const double before = now;
        const bool answered = trips.batch();
        now = trips.clock();
        if (answered && i > 0) { // in the first one the two meet
            times.push_back((now - before) / trips.per_batch);
        }
    }
    std::ranges::sort(times);
    const auto quartile = static_cast<std::size_t>(trips.batches / 4 - 1);
    const bool undisturbed = times.size() > quartile && times[quartile] <= agreement * times.front();
    return undisturbed ? times[quartile] : std::numeric_limits<double>::quiet_NaN();
}

} // namespace bench
