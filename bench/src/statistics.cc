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

Summary summarize(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return {
        .mean = values.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(values.size()),
        .median = quantile_of_sorted(values, 0.5),
        .min = quantile_of_sorted(values, 0.0),
        .max = quantile_of_sorted(values, 1.0),
        .p5 = quantile_of_sorted(values, 0.05),
        .p95 = quantile_of_sorted(values, 0.95),
        .p99 = quantile_of_sorted(values, 0.99),
    };
}

const std::array<Statistic, 7> &statistics() {
    static const std::array<Statistic, 7> all = {{{"mean", &Summary::mean},
                                                  {"median", &Summary::median},
                                                  {"min", &Summary::min},
                                                  {"max", &Summary::max},
                                                  {"p5", &Summary::p5},
                                                  {"p95", &Summary::p95},
                                                  {"p99", &Summary::p99}}};
    return all;
}

} // namespace bench
