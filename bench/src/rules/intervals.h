#pragma once

#include <span>
#include <vector>

namespace bench {

/// How many values each block has, in the order in which they were measured; the sum is the number of values. Blocks
/// are measured at different times: a temporary disturbance shifts whole blocks.
using BlockSizes = std::span<const long>;

/// A single block, cut into equal parts (batch means, Schmeiser 1982): `count` values, 10 parts.
std::vector<long> equal_parts(std::size_t count);

/// An interval for the median.
struct MedianInterval {
    double median;
    double low;
    double high;
    double effective; // so many independent values would give an interval as wide
    double hidden;    // the part of either half of the interval that more values do not remove
};

/// Between interpolated order statistics (Hettmansperger and Sheather 1986): no distribution is assumed, and outliers
/// count like other values. Their distance from the middle is the uncertainty of the share of values below the median:
/// - how much it varies from block to block, by Student's distribution, but no less than for independent values;
/// - with fewer than 5 blocks, no less than for the effective number of values by the autocorrelation of their ranks
///   (outliers would hide that of the values).
/// Values that a clock read in steps are on a grid of `step` (0: none); each stands for all within half a step of it
/// (the median of grouped data, Yule and Kendall 1950), and the interval is wider by what error that leaves.
/// `confidence` 0 to 1. NaN, and 0 for `effective`, if there are no values; with few values the interval is their whole
/// range, at a lower confidence. The interval of a single block ignores differences between blocks.
MedianInterval median_interval(std::span<const double> values, BlockSizes blocks, double confidence, double step = 0.0);

/// An interval for the mean.
struct MeanInterval {
    double mean;
    double half;      // half of the interval's width; NaN if the values are worth no more than one
    double effective; // see MedianInterval
};

/// As above, of values in place of shares. NaN, NaN, 0 if there are none.
MeanInterval mean_interval(std::span<const double> values, BlockSizes blocks, double confidence);

} // namespace bench
