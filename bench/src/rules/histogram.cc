// Counts values in bins (histogram.h).
#include "rules/histogram.h"

#include "rules/statistics.h"

#include <algorithm>

namespace bench {
namespace {

// Fraction of a bin by which values are moved up. Bins and clock steps are often both 1 ns, so values lie on the edges
// of bins, and a rounding error must not put them into the bin below.
constexpr double rounding = 1e-6;

} // namespace

Histogram make_histogram(std::span<const double> sorted, std::size_t bins, double quantile, double min_width) {
    const double low = sorted.front();
    const double high = std::max(quantile_of_sorted(sorted, quantile), low + min_width * static_cast<double>(bins));
    Histogram histogram{low, high, std::vector<std::size_t>(bins, 0), 0};
    for (const double value : sorted) {
        const double position = (value - low) / histogram.width();
        if (position > static_cast<double>(bins) + rounding) {
            ++histogram.overflow;
        } else {
            ++histogram.counts[std::min(static_cast<std::size_t>(position + rounding), bins - 1)];
        }
    }
    return histogram;
}

std::vector<double> Histogram::edges() const {
    std::vector<double> left;
    for (std::size_t bin = 0; bin < counts.size(); ++bin) {
        left.push_back(low + static_cast<double>(bin) * width());
    }
    return left;
}

} // namespace bench
