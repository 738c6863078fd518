// Confidence intervals of medians and means, quantiles, the step of a clock, times of round trips (statistics.h).
#include "rules/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

namespace bench {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

// Smallest mean size of blocks that are compared. In smaller blocks, the share of values below the median takes too few
// values.
constexpr std::size_t min_per_block = 4;

// The largest error of an interpolated median, in steps, if values differ only by the position of stamps within a step:
// 0.09 for one rank, 0.12 for the mean of two ranks, 0.2 for the mean of any number.
constexpr double interpolation_error = 0.2;

// With this many independent blocks, the variation between blocks includes the effect of autocorrelation. Correcting
// for autocorrelation as well would make intervals too wide.
constexpr long min_blocks_for_variation = 5;

// Blocks are not independent if a block begins with values like those at the end of the block before: the mean squared
// difference is below this share of that of unrelated values.
constexpr double max_share_if_related = 0.5;

double mean_of(std::span<const double> values) {
    return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

/// The autocorrelation at lag 1 of deviations from a mean; 0 if all deviations are 0. Corrects the bias for few values,
/// -(1 + 3 r) / n (Marriott and Pope 1954).
double autocorrelation(std::span<const double> deviations) {
    const double variance = std::inner_product(deviations.begin(), deviations.end(), deviations.begin(), 0.0);
    const double covariance = std::inner_product(deviations.begin() + 1, deviations.end(), deviations.begin(), 0.0);
    const double r1 = covariance / variance;
    return variance > 0.0 ? r1 + (1.0 + 3.0 * r1) / static_cast<double>(deviations.size()) : 0.0;
}

/// The effective number of `count` values with this autocorrelation under a first-order autoregressive process (Bayley
/// and Hammersley 1946), at least 1. At most `count`: alternating noise adds no evidence.
double effective_number(double count, double r1) {
    const double r = std::clamp(r1, 0.0, 1.0);
    return std::clamp(count * (1.0 - r) / (1.0 + r), 1.0, count);
}

/// Confidence interval of a mean from the variation between blocks.
struct BlockInterval {
    double half = 0.0;         // half of its width
    long effective_blocks = 1; // number of blocks of equal size with the same information; 1: cannot be compared
};

/// The confidence interval of the mean of `deviations`, from the variation of their sums between blocks. The effective
/// number of unequal blocks is the squared sum of their sizes divided by the sum of squares (Kish 1965).
BlockInterval interval_by_blocks(std::span<const double> deviations, BlockSizes blocks, double confidence) {
    const auto count = static_cast<double>(deviations.size());
    std::size_t filled = 0; // number of blocks that are not empty
    double squared_sizes = 0.0;
    double squared_sums = 0.0;
    auto begin = deviations.begin();
    for (const long size : blocks) {
        filled += size > 0 ? 1 : 0;
        squared_sizes += std::pow(static_cast<double>(size), 2);
        squared_sums += std::pow(std::reduce(begin, begin + size), 2);
        begin += size;
    }
    const long effective = blocks.empty() ? 1 : std::lround(count * count / squared_sizes);
    if (effective < 2 || deviations.size() < min_per_block * filled) {
        return {}; // a width of 0, which is below every other estimate
    }
    const double variance = squared_sums * static_cast<double>(effective) / static_cast<double>(effective - 1);
    return {student_quantile(0.5 + confidence / 2.0, effective - 1) * std::sqrt(variance) / count, effective};
}

/// The ranks (positions in sorted order) of values, minus the mean rank. Equal values share the mean of their ranks.
std::vector<double> rank_deviations(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> deviations(values.size());
    const double middle = static_cast<double>(values.size() - 1) / 2.0;
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && values[order[last]] == values[order[first]]) {
            ++last;
        }
        const double rank = static_cast<double>(first + last - 1) / 2.0;
        for (std::size_t i = first; i < last; ++i) {
            deviations[order[i]] = rank - middle;
        }
    }
    return deviations;
}

/// True if blocks begin with values similar to the last value of the block before (the ratio of von Neumann 1941, for
/// the ends of blocks only). The caller passes rank deviations if values may contain outliers.
bool follow_closely(std::span<const double> deviations, BlockSizes blocks) {
    double squares = 0.0;
    long ends = 0; // number of compared pairs of blocks
    std::size_t end = 0;
    for (const long size : blocks) {
        if (size > 0 && end > 0) {
            squares += std::pow(deviations[end] - deviations[end - 1], 2);
            ++ends;
        }
        end += static_cast<std::size_t>(size);
    }
    const double variance = std::inner_product(deviations.begin(), deviations.end(), deviations.begin(), 0.0) /
                            static_cast<double>(deviations.size());
    // Unrelated values have a mean squared difference of twice the variance.
    return squares < max_share_if_related * 2.0 * variance * static_cast<double>(ends);
}

/// The effective number of values, from the autocorrelation of `deviations`. It is the number of values if there are
/// enough independent blocks, whose variation then includes the effect of autocorrelation.
double effective_values(std::span<const double> values, std::span<const double> deviations, BlockSizes blocks,
                        const BlockInterval &by_blocks) {
    const auto count = static_cast<double>(values.size());
    const bool independent =
        by_blocks.effective_blocks >= min_blocks_for_variation && !follow_closely(rank_deviations(values), blocks);
    return independent ? count : effective_number(count, autocorrelation(deviations));
}

/// The point below which `below` of the sorted values lie, if each value is spread evenly over the step around it. If
/// that holds for all points of a gap between values, the middle of the gap.
double spread_value(std::span<const double> sorted, double below, double step) {
    const double margin = 1e-9 * static_cast<double>(sorted.size()); // number of values; far above rounding errors
    // The first point with `weight` values below it. Walks over the borders of the values' steps; between two borders
    // the weight grows linearly, by the number of values whose steps overlap.
    const auto first_with = [&](double weight) {
        double border = sorted.front() - step / 2.0;
        double reached = 0.0;
        std::size_t begun = 0;
        std::size_t ended = 0;
        while (ended < sorted.size()) {
            const double end = sorted[ended] + step / 2.0;
            const double next = begun < sorted.size() ? std::min(sorted[begun] - step / 2.0, end) : end;
            const double slope = static_cast<double>(begun - ended) / step;
            if (reached + slope * (next - border) >= weight) {
                return border + (weight - reached) / slope;
            }
            reached += slope * (next - border);
            border = next;
            if (next == end) {
                ++ended;
            } else {
                ++begun;
            }
        }
        return border;
    };
    return std::midpoint(first_with(below - margin), first_with(below + margin)); // differ only around a gap
}

/// The value at a (fractional) rank, from 0, interpolated. `step`: see median_interval.
double value_at(std::span<const double> sorted, double rank, double step) {
    const double last = static_cast<double>(sorted.size()) - 1.0;
    const double within = std::clamp(rank, 0.0, last);
    return step > 0.0 ? spread_value(sorted, within + 0.5, step)
                      : quantile_of_sorted(sorted, last > 0.0 ? within / last : 0.0);
}

} // namespace

std::vector<long> equal_parts(std::size_t count) {
    constexpr std::size_t parts = 10;
    std::vector<long> sizes;
    for (std::size_t part = 0; part < parts; ++part) {
        sizes.push_back(static_cast<long>(count / parts + (part < count % parts ? 1 : 0)));
    }
    return sizes;
}

MedianInterval median_interval(std::span<const double> values, BlockSizes blocks, double confidence, double step) {
    if (values.empty()) {
        return {.median = no_value, .low = no_value, .high = no_value, .effective = 0.0, .step_error = no_value};
    }
    const auto count = static_cast<double>(values.size());
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    const double middle = (count - 1.0) / 2.0; // rank, from 0
    const double median = value_at(sorted, middle, step);
    std::vector<double> below; // 1/2 for a value below the median, -1/2 above; in between within half a step of it
    for (const double value : values) {
        const double distance = median - value;
        if (step > 0.0) {
            below.push_back(std::clamp(distance / step, -0.5, 0.5));
        } else {
            below.push_back(0.5 * (static_cast<double>(distance > 0.0) - static_cast<double>(distance < 0.0)));
        }
    }
    const BlockInterval by_blocks = interval_by_blocks(below, blocks, confidence);
    const double effective = effective_values(values, rank_deviations(values), blocks, by_blocks);
    const double z = normal_quantile(0.5 + confidence / 2.0);
    // Half of the interval's width, as a share of the values.
    const double half = std::max(z * 0.5 / std::sqrt(effective), by_blocks.half);
    const double step_error = interpolation_error * step;
    return {.median = median,
            .low = value_at(sorted, middle - count * half, step) - step_error,
            .high = value_at(sorted, middle + count * half, step) + step_error,
            .effective = std::min(std::pow(z * 0.5 / half, 2), count),
            .step_error = step_error};
}

MeanInterval mean_interval(std::span<const double> values, BlockSizes blocks, double confidence) {
    if (values.empty()) {
        return {no_value, no_value, 0.0};
    }
    const auto count = static_cast<double>(values.size());
    const double mean = mean_of(values);
    std::vector<double> deviations;
    for (const double value : values) {
        deviations.push_back(value - mean);
    }
    const BlockInterval by_blocks = interval_by_blocks(deviations, blocks, confidence);
    const double effective = effective_values(values, deviations, blocks, by_blocks);
    if (effective < 2.0) {
        return {mean, no_value, effective};
    }
    // The sample mean follows correlated values, so deviations from it are too small. Bessel's correction with the
    // effective number of values compensates for that.
    const double squares = std::inner_product(deviations.begin(), deviations.end(), deviations.begin(), 0.0);
    const double deviation = std::sqrt(squares / count * effective / (effective - 1.0));
    const double t = student_quantile(0.5 + confidence / 2.0, static_cast<long>(effective) - 1);
    const double half = std::max(t * deviation / std::sqrt(effective), by_blocks.half);
    return {mean, half, half > 0.0 ? std::min(std::pow(t * deviation / half, 2), count) : count};
}

namespace {

// The quantile p of a distribution between `low` and `high`, by bisection: the standard library has no quantiles.
// `below` is the distribution function.
template <typename Distribution> double quantile(double p, double low, double high, Distribution below) {
    while (high - low > 1e-13 * (1.0 + std::abs(low))) { // near the precision of double, relative or absolute
        const double middle = (low + high) / 2.0;
        (below(middle) < p ? low : high) = middle;
    }
    return low;
}

// Student's distribution function at `t` for an integer number of degrees of freedom, as a finite sum (Abramowitz and
// Stegun 1964, 26.7.3 and 26.7.4).
double student_below(double t, long freedom) {
    const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
    const double cosine = std::cos(angle);
    const bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1.0;
    double sum = freedom == 1 ? 0.0 : term;
    for (long k = odd ? 3 : 2; k < freedom; k += 2) {
        term *= static_cast<double>(k - 1) / static_cast<double>(k) * cosine * cosine;
        sum += term;
    }
    sum *= std::sin(angle);
    const double within = odd ? (angle + sum) * 2.0 / std::numbers::pi : sum;
    return 0.5 + within / 2.0;
}

// Student's quantile from the normal quantile z (Abramowitz and Stegun 1964, expansion 26.7.5). From 200 degrees of
// freedom on, the first omitted term is below 1e-8 for confidence levels up to 99 %.
double student_from_normal(double z, double freedom) {
    const double z3 = std::pow(z, 3);
    const double z5 = std::pow(z, 5);
    const double z7 = std::pow(z, 7);
    return z + (z3 + z) / (4.0 * freedom) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * std::pow(freedom, 2)) +
           (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * std::pow(freedom, 3));
}

constexpr long min_freedom_for_expansion = 200; // from here on, student_from_normal is exact to 1e-8

} // namespace

double normal_quantile(double p) {
    return quantile(p, -10.0, 10.0, [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); });
}

double student_quantile(double p, long freedom) {
    if (freedom >= min_freedom_for_expansion) {
        return student_from_normal(normal_quantile(p), static_cast<double>(freedom));
    }
    return quantile(p, 0.0, 1e5, [freedom](double t) { return student_below(t, freedom); });
}

double quantile_of_sorted(std::span<const double> sorted, double p) {
    if (sorted.empty()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const double position = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double known_median(std::vector<double> values) {
    std::erase_if(values, [](double value) { return std::isnan(value); });
    std::ranges::sort(values);
    return quantile_of_sorted(values, 0.5);
}

Summary summarize(std::vector<double> values, BlockSizes blocks, double step) {
    if (values.empty()) {
        Summary nothing;
        for (const Statistic &statistic : statistics()) {
            nothing.*statistic.value = std::numeric_limits<double>::quiet_NaN();
        }
        return nothing;
    }
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    const MedianInterval interval = median_interval(values, blocks, 0.95, step);
    std::ranges::sort(values);
    return {
        .mean = mean,
        .median = interval.median,
        .median_low = interval.low,
        .median_high = interval.high,
        .effective = interval.effective,
        .min = values.front(),
        .max = values.back(),
        .p5 = quantile_of_sorted(values, 0.05),
        .p25 = quantile_of_sorted(values, 0.25),
        .p75 = quantile_of_sorted(values, 0.75),
        .p95 = quantile_of_sorted(values, 0.95),
        .p99 = quantile_of_sorted(values, 0.99),
    };
}

const std::array<Statistic, 12> &statistics() {
    static const std::array<Statistic, 12> all = {{{"mean", &Summary::mean, true},
                                                   {"median", &Summary::median, true},
                                                   {"median_low", &Summary::median_low, true},
                                                   {"median_high", &Summary::median_high, true},
                                                   {"effective", &Summary::effective, false},
                                                   {"min", &Summary::min, true},
                                                   {"max", &Summary::max, true},
                                                   {"p5", &Summary::p5, true},
                                                   {"p25", &Summary::p25, true},
                                                   {"p75", &Summary::p75, true},
                                                   {"p95", &Summary::p95, true},
                                                   {"p99", &Summary::p99, true}}};
    return all;
}

namespace {

constexpr double rounding = 1.0;       // a difference may deviate from a multiple of the step by this, ticks
constexpr double min_step = 8.0;       // ticks; nearly all numbers are close to multiples of a shorter step
constexpr double max_steps = 16.0;     // differences with more steps are not used: the error of the step adds up
constexpr int max_steps_per_read = 8;  // largest number of steps in the smallest difference
constexpr double share_on_grid = 0.98; // share of the differences that must be multiples of the step

/// The least squares step of differences that are nearly multiples of `guess`; 0 if they are not.
double fitted_step(std::span<const double> differences, double guess) {
    double products = 0.0;
    double squares = 0.0;
    for (const double difference : differences) {
        const double steps = std::round(difference / guess);
        products += difference * steps;
        squares += steps * steps;
    }
    const double step = products / squares;
    const auto off = std::ranges::count_if(
        differences, [&](double difference) { return std::abs(std::remainder(difference, step)) > rounding; });
    return static_cast<double>(off) <= (1.0 - share_on_grid) * static_cast<double>(differences.size()) ? step : 0.0;
}

} // namespace

double step_of(std::span<const double> differences) {
    std::vector<double> sorted;
    std::ranges::copy_if(differences, std::back_inserter(sorted), [](double difference) { return difference > 0.0; });
    if (sorted.empty()) {
        return 0.0;
    }
    std::ranges::sort(sorted);
    // The smallest difference is a small number of steps, if there is a step.
    for (int steps = 1; steps <= max_steps_per_read && sorted.front() / steps >= min_step; ++steps) {
        const double guess = sorted.front() / steps;
        const auto end = std::upper_bound(sorted.begin(), sorted.end(), max_steps * guess);
        if (const double step = fitted_step({sorted.begin(), end}, guess); step > 0.0) {
            return step;
        }
    }
    return 1.0;
}

namespace {

// Batches agree if they differ by less than this factor. It is well below the ratio of round trips in two states of a
// machine, e.g. with and without a shared cache.
constexpr double agreement = 1.25;

} // namespace

double time_round_trips(const RoundTripBatches &trips) {
    std::vector<double> times;
    double now = trips.clock();
    const double end = now + trips.longest;
    for (int i = 0; i <= trips.batches && now < end; ++i) {
        const double before = now;
        const bool answered = trips.batch();
        now = trips.clock();
        if (answered && i > 0) { // the first batch includes the wait until both ranks have started
            times.push_back((now - before) / trips.per_batch);
        }
    }
    std::ranges::sort(times);
    // Of all batches that should be measured, so that a measurement that ends early counts as disturbed.
    const auto quartile = static_cast<std::size_t>(trips.batches / 4 - 1); // index
    const bool undisturbed = times.size() > quartile && times[quartile] <= agreement * times.front();
    return undisturbed ? times[quartile] : std::numeric_limits<double>::quiet_NaN();
}

} // namespace bench
