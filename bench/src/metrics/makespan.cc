#include "metric.h"

#include <algorithm>
#include <cmath>

namespace bench::metrics {

Metric makespan() {
    return {"makespan", "time from the common start to the last exit; the start is the deadline, else the first entry",
            "s", [](const Sample &sample) {
                const double start = std::isnan(sample.deadline)
                                         ? *std::min_element(sample.entry.begin(), sample.entry.end())
                                         : sample.deadline;
                return *std::max_element(sample.exit.begin(), sample.exit.end()) - start;
            }};
}

} // namespace bench::metrics
