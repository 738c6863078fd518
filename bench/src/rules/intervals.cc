#include "rules/intervals.h"

#include "rules/distributions.h"
#include "rules/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace bench {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

// In smaller blocks the share below the median can take too few values to show anything.
constexpr std::size_t least_per_block = 4;

// The largest error of an interpolated median, in steps, if values differ only by where stamps are within a step: 0.09
// for one rank, 0.12 for the mean of two, 0.2 for the mean of any number.
constexpr double left_by_interpolation = 0.2;

// This many blocks also show the effect of autocorrelation; with both, intervals are too wide.
constexpr long enough_blocks = 5;

double mean_of(std::span<const double> values) {
    return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

/// Autocorrelation at lag 1 of deviations from a mean, 0 if all are 0. Corrects the bias of few values, -(1 + 3 r) / n
/// (Marriott and Pope 1954).
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

struct BlockInterval {
    double half = 0.0; // half of its width
    long worth = 1;    // number of equal blocks; 1 if blocks cannot be compared
};

/// The interval of the mean of `deviations`, from how their sums vary from block to block. The squares of the sizes of
/// unequal blocks say how many equal ones they are worth (Kish 1965).
BlockInterval interval_by_blocks(std::span<const double> deviations, BlockSizes blocks, double confidence) {
    const auto count = static_cast<double>(deviations.size());
    std::size_t filled = 0;
    double squared_sizes = 0.0;
    double squared_sums = 0.0;
    auto begin = deviations.begin();
    for (const long size : blocks) {
        filled += size > 0 ? 1 : 0;
        squared_sizes += std::pow(static_cast<double>(size), 2);
        squared_sums += std::pow(std::reduce(begin, begin + size), 2);
        begin += size;
    }
    const long worth = blocks.empty() ? 1 : std::lround(count * count / squared_sizes);
    if (worth < 2 || deviations.size() < least_per_block * filled) {
        return {};
    }
    const double variance = squared_sums * static_cast<double>(worth) / static_cast<double>(worth - 1);
    return {student_quantile(0.5 + confidence / 2.0, worth - 1) * std::sqrt(variance) / count, worth};
}

/// The ranks of values less their mean; equal values share a rank.
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

/// The point with `below` of the sorted values below it, each value spread evenly over a step around it.
double spread_value(std::span<const double> sorted, double below, double step) {
    const double little = 1e-9 * static_cast<double>(sorted.size());
    const auto first_with = [&](double wanted) {
        double place = sorted.front() - step / 2.0;
        double reached = 0.0;
        std::size_t begun = 0;
        std::size_t ended = 0;
        while (ended < sorted.size()) {
            const double end = sorted[ended] + step / 2.0;
            const double next = begun < sorted.size() ? std::min(sorted[begun] - step / 2.0, end) : end;
            const double slope = static_cast<double>(begun - ended) / step;
            if (reached + slope * (next - place) >= wanted) {
                return place + (wanted - reached) / slope;
            }
            reached += slope * (next - place);
            place = next;
            if (next == end) {
                ++ended;
            } else {
                ++begun;
            }
        }
        return place;
    };
    return std::midpoint(first_with(below - little), first_with(below + little)); // the middle of a gap
}

/// The value of a rank, from 0.
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
        return {no_value, no_value, no_value, 0.0, no_value};
    }
    const auto count = static_cast<double>(values.size());
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    const double middle = (count - 1.0) / 2.0; // rank, from 0
    const double median = value_at(sorted, middle, step);
    std::vector<double> below; // 1/2 below the median, -1/2 above, between within a step of it
    for (const double value : values) {
        const double distance = median - value;
        below.push_back(step > 0.0       ? std::clamp(distance / step, -0.5, 0.5)
                        : distance > 0.0 ? 0.5
                        : distance < 0.0 ? -0.5
                                         : 0.0);
    }
    const BlockInterval by_blocks = interval_by_blocks(below, blocks, confidence);
    const double worth =
        by_blocks.worth < enough_blocks ? effective_number(count, autocorrelation(rank_deviations(values))) : count;
    const double z = normal_quantile(0.5 + confidence / 2.0);
    const double half = std::max(z * 0.5 / std::sqrt(worth), by_blocks.half);
    const double hidden = left_by_interpolation * step;
    return {median, value_at(sorted, middle - count * half, step) - hidden,
            value_at(sorted, middle + count * half, step) + hidden, std::min(std::pow(z * 0.5 / half, 2), count),
            hidden};
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
    const double worth = by_blocks.worth < enough_blocks ? effective_number(count, autocorrelation(deviations)) : count;
    if (worth < 2.0) {
        return {mean, no_value, worth};
    }
    // The mean follows correlated values, so their deviation is too small, as if there were only `worth` of them.
    const double squares = std::inner_product(deviations.begin(), deviations.end(), deviations.begin(), 0.0);
    const double deviation = std::sqrt(squares / count * worth / (worth - 1.0));
    const double t = student_quantile(0.5 + confidence / 2.0, static_cast<long>(worth) - 1);
    const double half = std::max(t * deviation / std::sqrt(worth), by_blocks.half);
    return {mean, half, half > 0.0 ? std::min(std::pow(t * deviation / half, 2), count) : count};
}

} // namespace bench
