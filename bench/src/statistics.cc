#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace bench {

double quantile_of_sorted(std::span<const double> sorted, double p) {
    if (sorted.empty()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const double position = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

namespace {

double autocorrelation(std::span<const double> values, double mean) {
    double covariance = 0.0;
    double variance = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        variance += (values[i] - mean) * (values[i] - mean);
        covariance += i == 0 ? 0.0 : (values[i] - mean) * (values[i - 1] - mean);
    }
    return variance > 0.0 ? covariance / variance : 0.0;
}

// The quantile of the standard normal distribution by bisection of its distribution function: the standard library has
// the latter only.
double normal_quantile(double p) {
    double low = -10.0;
    double high = 10.0;
    while (high - low > 1e-12) {
        const double middle = (low + high) / 2.0;
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
    }
    return low;
}

/// What `count` values with this autocorrelation at lag 1 are worth, 1 at least.
double effective_number(double count, double r1) {
    return std::clamp(count * (1.0 - r1) / (1.0 + r1), std::min(count, 1.0), count);
}

// The quantile of Student's distribution from the normal one, by the expansion 26.7.5 of Abramowitz and Stegun 1964:
// within 1 % from 3 degrees of freedom on.
double student_quantile(double p, double freedom) {
    const double z = normal_quantile(p);
    const double z3 = std::pow(z, 3);
    const double z5 = std::pow(z, 5);
    const double z7 = std::pow(z, 7);
    return z + (z3 + z) / (4.0 * freedom) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * std::pow(freedom, 2)) +
           (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * std::pow(freedom, 3));
}

MedianInterval interval_of(std::span<const double> sorted, double r1, double confidence) {
    const auto count = static_cast<double>(sorted.size());
    const double effective = effective_number(count, r1);
    const double z = normal_quantile(0.5 + confidence / 2.0);
    // In ranks from 0; the number of values below the median has a standard deviation of sqrt(n) / 2.
    const double half = z * count / (2.0 * std::sqrt(effective));
    const double middle = (count - 1.0) / 2.0;
    const auto low = static_cast<std::size_t>(std::max(std::floor(middle - half), 0.0));
    const auto high = static_cast<std::size_t>(std::min(std::ceil(middle + half), count - 1.0));
    return {sorted[low], sorted[high], effective};
}

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

MedianInterval median_interval(std::span<const double> values, double confidence) {
    if (values.empty()) {
        return {no_value, no_value, 0.0};
    }
    const double r1 = std::max(autocorrelation(values, mean_of(values)), 0.0);
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    return interval_of(sorted, r1, confidence);
}

MeanInterval mean_interval(std::span<const double> values, double confidence) {
    if (values.empty()) {
        return {no_value, no_value, 0.0};
    }
    const auto count = static_cast<double>(values.size());
    const double mean = mean_of(values);
    const double effective = effective_number(count, std::max(autocorrelation(values, mean), 0.0));
    if (effective <= 1.0) {
        return {mean, no_value, effective};
    }
    double squares = 0.0;
    for (const double value : values) {
        squares += (value - mean) * (value - mean);
    }
    // The mean follows values that hang together; so the variance is underestimated by what they are worth, not by
    // their number.
    const double variance = squares / count * effective / (effective - 1.0);
    const double t = student_quantile(0.5 + confidence / 2.0, effective - 1.0);
    return {mean, t * std::sqrt(variance / effective), effective};
}

double runs_deviation(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double median = quantile_of_sorted(sorted, 0.5);
    double above = 0.0;
    double below = 0.0;
    double runs = 0.0;
    int side = 0;
    for (const double value : values) {
        const int now = value > median ? 1 : value < median ? -1 : 0;
        if (now == 0) {
            continue;
        }
        (now > 0 ? above : below) += 1.0;
        runs += now != side ? 1.0 : 0.0;
        side = now;
    }
    const double count = above + below;
    if (above == 0.0 || below == 0.0 || count < 3.0) {
        return 0.0;
    }
    const double expected = 1.0 + 2.0 * above * below / count;
    const double variance = (expected - 1.0) * (expected - 2.0) / (count - 1.0);
    return variance > 0.0 ? (runs - expected) / std::sqrt(variance) : 0.0;
}

Summary summarize(std::vector<double> values) {
    if (values.empty()) {
        Summary nothing;
        for (const Statistic &statistic : statistics()) {
            nothing.*statistic.value = no_value;
        }
        return nothing;
    }
    const double mean = mean_of(values);
    const double r1 = std::max(autocorrelation(values, mean), 0.0);
    std::sort(values.begin(), values.end());
    const MedianInterval interval = interval_of(values, r1, 0.95);
    return {
        .mean = mean,
        .median = quantile_of_sorted(values, 0.5),
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

} // namespace bench
