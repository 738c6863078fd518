#include "metric.h"

namespace bench::metrics {

Metric latency_avg() {
    return {"latency_avg", "mean over ranks of the time in the operation (what OSU reports as average latency)", "s",
            [](const Sample &sample) {
                double sum = 0.0;
                for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
                    sum += sample.exit[rank] - sample.entry[rank];
                }
                return sum / static_cast<double>(sample.entry.size());
            }};
}

} // namespace bench::metrics
