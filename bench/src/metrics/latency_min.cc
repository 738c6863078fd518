#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric latency_min() {
    return {"latency_min", "time in the operation, smallest over ranks", "s", 0, [](const Sample &sample) {
                double shortest = latency(sample, sample.timed[0]);
                for (const std::size_t rank : sample.timed) {
                    shortest = std::min(shortest, latency(sample, rank));
                }
                return shortest;
            }};
}

} // namespace bench::metrics
