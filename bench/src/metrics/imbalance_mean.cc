#include "metrics/metric.h"

#include <cmath>
#include <numeric>

namespace bench::metrics {

Metric imbalance_mean() {
    return {"imbalance_mean",
            "mean distance of the ranks' entries from the mean entry (average-case imbalance time, Faraj 2007)", "s", 2,
            [](const Sample &sample) {
                const auto ranks = static_cast<double>(sample.entry.size());
                const double mean = std::accumulate(sample.entry.begin(), sample.entry.end(), 0.0) / ranks;
                double sum = 0.0;
                for (const double entry : sample.entry) {
                    sum += std::abs(entry - mean);
                }
                return sum / ranks;
            }};
}

} // namespace bench::metrics
