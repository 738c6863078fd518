#include "metrics/metric.h"

#include <algorithm>

namespace bench::metrics {

Metric exit_skew() {
    return {"exit_skew", "time from the first rank's exit from the synchronizer to the last one's, delays subtracted",
            "s", 2, [](const Sample &sample) {
                double first = sample.entry[0] - sample.delay[0];
                double last = first;
                for (std::size_t rank = 1; rank < sample.entry.size(); ++rank) {
                    first = std::min(first, sample.entry[rank] - sample.delay[rank]);
                    last = std::max(last, sample.entry[rank] - sample.delay[rank]);
                }
                return last - first;
            }};
}

} // namespace bench::metrics
