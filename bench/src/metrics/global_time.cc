#include "metrics/metric.h"
#include "metrics/sample_times.h"

namespace bench::metrics {

Metric global_time() {
    return {"global_time", "time from the first entry to the last exit (t_global, Niethammer 2016, Eq. 4)", "s", 2,
            [](const Sample &sample) {
                return (last_exit(sample) - first_entry(sample)) / static_cast<double>(sample.calls);
            }};
}

} // namespace bench::metrics
