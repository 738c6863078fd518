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

/// The quantile of the standard normal distribution.
double normal_quantile(double p);

/// The quantile of Student's distribution with so many degrees of freedom, 1 at least; `p` 0.5 or more.
double student_quantile(double p, long freedom);

/// The quantile `p` (0 to 1) of sorted values by linear interpolation between closest ranks (definition 7 of Hyndman
/// and Fan 1996, the default of NumPy and R). NaN if there are none.
double quantile_of_sorted(std::span<const double> sorted, double p);

/// The median of the values that are not NaN; NaN if there are none.
double known_median(std::vector<double> values);

/// NaN throughout where there was no value.
struct Summary {
    double mean;
    double median;
    double median_low; // 95 % confidence interval of the median, see median_interval
    double median_high;
    double effective; // see MedianInterval
    double min;
    double max;
    double p5;
    double p25;
    double p75;
    double p95;
    double p99;
};

/// `values` in the order in which they were measured; without `blocks` in one. `step`: see median_interval.
Summary summarize(std::vector<double> values, BlockSizes blocks = {}, double step = 0.0);

/// The fields of a summary by the names that files use.
struct Statistic {
    std::string name;
    double Summary::*value;
    bool has_unit; // that of the values
};
const std::array<Statistic, 12> &statistics();

/// The step in which a counter advances, by differences of its readings, in ticks: a processor's counter may rise by
/// tens of ticks at a time, give or take one. 1 where any number of ticks may pass, 0 where none ever did.
double step_of(std::span<const double> differences);

/// A random permutation, the same on all machines for the same engine: std::shuffle and the standard distributions
/// differ between standard libraries, the engine does not. The bias of the remainder is below 2^-40 for any number of
/// items that fits a run.
template <typename Item> void shuffle(std::vector<Item> &items, std::mt19937_64 &random) {
    for (std::size_t left = items.size(); left > 1; --left) {
        std::swap(items[left - 1], items[random() % left]);
    }
}

/// Round trips are timed in batches: long compared to reading the clock, short compared to what disturbs them.
struct RoundTripBatches {
    int batches;
    int per_batch;
    double longest;                // s, of a reading; the batch in which it is over is the last
    std::function<bool()> batch;   // makes the trips of one; false: the partner did not answer
    std::function<double()> clock; // s
};

/// The time of a round trip, s: the lower quartile over batches. NaN if it was disturbed: less than a quarter of the
/// batches agree with the fastest one. Asker or partner without a processor lengthens some batches, each by another
/// time, or ends the reading early.
double time_round_trips(const RoundTripBatches &trips);

} // namespace bench
