#pragma once

#include <span>
#include <vector>

namespace bench {

/// How many values each block has, in the order in which they were measured; of their sum are all values. Values of
/// different blocks were measured at different times: a temporary disturbance shifts whole blocks.
using BlockSizes = std::span<const long>;

/// A single block, cut into equal parts (batch means, Schmeiser 1982): `count` values, 10 parts.
std::vector<long> equal_parts(std::size_t count);

/// An interval for the median.
struct MedianInterval {
    double median;
    double low;
    double high;
    double effective; // so many independent values would give an interval as wide
    double hidden;    // of either half of the interval, what more values do not take away
};

/// By interpolated order statistics (Hettmansperger and Sheather 1986), so no distribution is assumed, and outliers
/// count as any other value. They stand as far from the middle as the share of values below the median is uncertain:
/// - by what it varies by from block to block, by Student's distribution, but no less than for independent values;
/// - where there are fewer than 5 blocks, no less than what the autocorrelation of the ranks leaves of the number of
///   values (that of the values is hidden by outliers).
/// Values that a clock read in steps are on a grid of `step` (0: none); each stands for all within half a step of it
/// (the median of grouped data, Yule and Kendall 1950), and the interval is wider by what error that leaves.
/// `confidence` 0 to 1. NaN, and 0 for `effective`, if there are no values; with few the interval is all of their
/// range, and its confidence lower. Of a single block it does not know what other blocks would have shown.
MedianInterval median_interval(std::span<const double> values, BlockSizes blocks, double confidence, double step = 0.0);

/// An interval for the mean.
struct MeanInterval {
    double mean;
    double half;      // of the interval's width; NaN if the values are worth no more than one
    double effective; // see MedianInterval
};

/// By Student's distribution, as above, of values in place of shares. NaN, NaN, 0 if there are
/// none.
MeanInterval mean_interval(std::span<const double> values, BlockSizes blocks, double confidence);

} // namespace bench
