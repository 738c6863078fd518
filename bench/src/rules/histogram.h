#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bench {

/// Counts in uniform bins from the smallest value up to a quantile; larger values are counted apart, because the tail
/// of round trips is so long that all others would fall into one bin.
struct Histogram {
    double low;  // of the first bin
    double high; // of the last bin; the last bin contains it
    std::vector<std::size_t> counts;
    std::size_t overflow; // values above `high`

    double width() const { return (high - low) / static_cast<double>(counts.size()); }
    /// The left edges of the bins.
    std::vector<double> edges() const;
};

/// Values are sorted and not empty. `least_width`: the least width of a bin, for values that are all equal.
Histogram make_histogram(std::span<const double> sorted, std::size_t bins, double quantile, double least_width);

} // namespace bench
