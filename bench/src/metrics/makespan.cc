#include "metrics/metric.h"
#include "metrics/sample_times.h"

#include <cmath>

namespace bench::metrics {

Metric makespan() {
    return {"makespan", "time from the common start to the last exit; the start is the deadline, else the first entry",
            "s", 2, [](const Sample &sample) {
                const double start = std::isnan(sample.deadline) ? first_entry(sample) : sample.deadline;
                return (last_exit(sample) - start) / static_cast<double>(sample.calls);
            }};
}

} // namespace bench::metrics
