#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric latency_max() {
    return {"latency_max", "time in the operation, largest over ranks", "s", 0, [](const Sample &sample) {
                double longest = latency(sample, sample.timed[0]);
                for (const std::size_t rank : sample.timed) {
                    longest = std::max(longest, latency(sample, rank));
                }
                return longest;
            }};
}

} // namespace bench::metrics
