#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric after_last_entry() {
    return {"after_last_entry", "time from the last entry to the last exit: the cost once all ranks have arrived", "s",
            2, [](const Sample &sample) {
                return (last_exit(sample) - last_entry(sample)) / static_cast<double>(sample.calls);
            }};
}

} // namespace bench::metrics
