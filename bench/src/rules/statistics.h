// Statistics of samples: medians and means with confidence intervals that hold for autocorrelated samples and for
// samples in blocks, quantiles, the step of a clock, and times of round trips.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The number of values in each block, in the order of measurement; the sum is the number of values. Blocks are
/// measured at different times, so a temporary disturbance shifts all values of a block.
using BlockSizes = std::span<const long>;

/// The sizes of 10 equal blocks of `count` consecutive values (batch means, Schmeiser 1982).
std::vector<long> equal_parts(std::size_t count);

/// Confidence interval of a median.
struct MedianInterval {
    // In the unit of the values:
    double median;
    double low;       // lower end of the interval
    double high;      // upper end
    double effective; // number of independent values that would give an interval of this width; a pure number
    double
        step_error; // part of each half of the interval that is due to the clock's step; more values do not reduce it
};

/// Computes the median and its confidence interval between interpolated order statistics (Hettmansperger and Sheather
/// 1986). It assumes no distribution, and outliers count like other values. The distance of the order statistics from
/// the middle is the uncertainty of the share of values below the median:
/// - its variation from block to block, by Student's distribution, but at least the variation for independent values;
/// - with fewer than 5 independent blocks, at least the variation for the effective number of values, from the
///   autocorrelation of the ranks of the values (outliers would hide the autocorrelation of the values themselves).
/// `step`: values are multiples of the step of a clock (0: no step). Each value then represents the interval of half a
/// step around it (median of grouped data, Yule and Kendall 1950), and the confidence interval includes `step_error`.
/// `confidence`: 0 to 1. Without values, all is NaN and `effective` 0. With few values the interval is the range of the
/// values and has a lower confidence. With a single block, differences between blocks are ignored.
MedianInterval median_interval(std::span<const double> values, BlockSizes blocks, double confidence, double step = 0.0);

/// Confidence interval of a mean.
struct MeanInterval {
    double mean;
    double half;      // half of the interval's width; NaN with fewer than two effective values
    double effective; // see MedianInterval
};

/// Computes the mean and its confidence interval from the variation of block means and the autocorrelation of values,
/// like median_interval. Without values: NaN, NaN, 0.
MeanInterval mean_interval(std::span<const double> values, BlockSizes blocks, double confidence);

/// The quantile of the standard normal distribution.
double normal_quantile(double p);

/// The quantile of Student's distribution with `freedom` degrees of freedom (at least 1), for p >= 0.5.
double student_quantile(double p, long freedom);

/// The quantile `p` (0 to 1) of sorted values by linear interpolation between closest ranks (definition 7 of Hyndman
/// and Fan 1996, the default of NumPy and R). NaN without values.
double quantile_of_sorted(std::span<const double> sorted, double p);

/// The median of the values that are not NaN; NaN if there are none.
double known_median(std::vector<double> values);

/// Statistics of values; all are NaN without values. A number such as p5 is a percentile.
struct Summary {
    double mean;
    double median;
    double median_low;  // lower end of the 95 % confidence interval of the median
    double median_high; // upper end
    double effective;   // see MedianInterval
    double min;
    double max;
    double p5;
    double p25;
    double p75;
    double p95;
    double p99;
};

/// Summarizes values in the order of measurement. Without `blocks`, they form a single block. `step`: see
/// median_interval.
Summary summarize(std::vector<double> values, BlockSizes blocks = {}, double step = 0.0);

/// A member of Summary.
struct Statistic {
    std::string name; // in files
    double Summary::*value;
    bool has_unit; // true: has the unit of the values; false: a pure number
};
/// All members of Summary, in the order of files.
const std::array<Statistic, 12> &statistics();

/// Estimates the step in which a counter advances, in ticks, from differences of its readings. A processor's counter
/// may advance by tens of ticks at a time, plus or minus one. Returns 1 if the differences have no common step, 0 if
/// all are 0.
double step_of(std::span<const double> differences);

/// Shuffles items. The result is the same on all machines for the same engine; std::shuffle and the standard
/// distributions differ between standard libraries. The modulo bias is below 2^-40 for the numbers of items in a run.
template <typename Item> void shuffle(std::vector<Item> &items, std::mt19937_64 &random) {
    for (std::size_t remaining = items.size(); remaining > 1; --remaining) {
        std::swap(items[remaining - 1], items[random() % remaining]);
    }
}

/// A measurement of round trips in batches. A batch is long compared to reading the clock and short compared to
/// interruptions.
struct RoundTripBatches {
    int batches;                   // number of batches that are measured, at least 4, after one to warm up
    int per_batch;                 // round trips of a batch
    double longest;                // no batch begins later than this after the start of the measurement, s
    std::function<bool()> batch;   // makes the round trips of a batch; false: the partner did not answer
    std::function<double()> clock; // reads a clock, s
};

/// Measures the time of a round trip, s: the lower quartile over batches. Returns NaN if the measurement was disturbed,
/// i.e. less than a quarter of the batches agree with the fastest batch. That happens when a rank of the pair lost its
/// processor: some batches are longer, or the measurement ends early.
double time_round_trips(const RoundTripBatches &trips);

} // namespace bench
