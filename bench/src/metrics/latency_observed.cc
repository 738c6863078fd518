#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric latency_observed() {
    return {"latency_observed", "time in the operation on the rank that --observe names (as mpptest does for rank 0)",
            "s", 0, [](const Sample &sample) { return latency(sample, sample.observed); }};
}

} // namespace bench::metrics
