#include "metric.h"
#include "sample_times.h"

namespace bench::metrics {

Metric latency_avg() {
    return {"latency_avg", "time in the operation, mean over ranks (what OSU reports as average latency)", "s", 0,
            [](const Sample &sample) {
                double sum = 0.0;
                for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
                    sum += latency(sample, rank);
                }
                return sum / static_cast<double>(sample.entry.size());
            }};
}

} // namespace bench::metrics
