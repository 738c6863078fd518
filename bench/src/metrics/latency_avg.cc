#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric latency_avg() {
    return {"latency_avg",
            "time in the operation, mean over ranks (OSU's average latency)",
            "s",
            0,
            [](const Sample &sample) {
                double sum = 0.0;
                for (const std::size_t rank : sample.timed) {
                    sum += latency(sample, rank);
                }
                return sum / static_cast<double>(sample.timed.size());
            },
            true};
}

} // namespace bench::metrics
