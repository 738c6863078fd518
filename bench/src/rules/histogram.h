// Histograms of round-trip times and exit skews, for `downbeat-bench rtt` and `skew`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bench {

/// Counts of values in bins of equal width, from the smallest value to a quantile. Larger values have a count of their
/// own: the tail of round trips is so long that otherwise most values would fall into the first bin.
struct Histogram {
    double low;                      // lower end of the first bin
    double high;                     // upper end of the last bin, which includes this value
    std::vector<std::size_t> counts; // per bin
    std::size_t overflow;            // values above `high`

    /// The width of a bin.
    double width() const { return (high - low) / static_cast<double>(counts.size()); }
    /// The left edges of the bins.
    std::vector<double> edges() const;
};

/// Counts sorted values; there must be at least one. `quantile` (0 to 1) gives the end of the last bin. `min_width`:
/// smallest width of a bin, which applies if the values are nearly equal.
Histogram make_histogram(std::span<const double> sorted, std::size_t bins, double quantile, double min_width);

} // namespace bench
