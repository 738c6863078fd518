#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric imbalance_worst() {
    return {"imbalance_worst", "time from the first to the last entry (worst-case imbalance time, Faraj 2007)", "s", 2,
            [](const Sample &sample) { return last_entry(sample) - first_entry(sample); }};
}

} // namespace bench::metrics
