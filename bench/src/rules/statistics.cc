#include "rules/statistics.h"

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

} // namespace bench
