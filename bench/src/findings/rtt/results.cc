#include "findings/rtt/results.h"

#include <algorithm>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t bins = 200; // Hoefler 2008, figure 4
constexpr double drawn_quantile = 0.99;
constexpr double least_bin = 1e-9; // seconds; timestamps are nanoseconds

} // namespace

RttPair study_rtts(const Pair &pair, RoundTrips trips, long resamples, std::uint64_t seed) {
    std::vector<double> sorted = trips.rtt;
    std::sort(sorted.begin(), sorted.end());
    const Summary summary = summarize(trips.rtt, equal_parts(trips.rtt.size()));
    const double p999 = quantile_of_sorted(sorted, 0.999);
    const Histogram histogram = make_histogram(sorted, bins, drawn_quantile, least_bin);
    std::vector<StopRule> stop_rule = study_stop_rule(trips.rtt, stop_rule_ns(), resamples, seed);
    return {pair, std::move(trips), summary, p999, histogram, std::move(stop_rule)};
}

} // namespace bench
