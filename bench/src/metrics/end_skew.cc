#include "metrics/metric.h"
#include "metrics/sample_times.h"

#include <algorithm>

namespace bench::metrics {

Metric end_skew() {
    return {"end_skew", "time from the first rank's exit from the operation to the last one's", "s", 2,
            [](const Sample &sample) {
                return last_exit(sample) - *std::min_element(sample.exit.begin(), sample.exit.end());
            }};
}

} // namespace bench::metrics
