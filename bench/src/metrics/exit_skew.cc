#include "metric.h"

#include <algorithm>

namespace bench::metrics {

Metric exit_skew() {
    return {"exit_skew", "time from the first to the last rank's leaving the synchronizer", "s",
            [](const Sample &sample) {
                const auto [first, last] = std::minmax_element(sample.entry.begin(), sample.entry.end());
                return *last - *first;
            }};
}

} // namespace bench::metrics
