#include "metric.h"

#include <algorithm>

namespace bench::metrics {

Metric latency_max() {
    return {"latency_max", "largest over ranks of the time in the operation", "s", [](const Sample &sample) {
                double longest = sample.exit[0] - sample.entry[0];
                for (std::size_t rank = 1; rank < sample.entry.size(); ++rank) {
                    longest = std::max(longest, sample.exit[rank] - sample.entry[rank]);
                }
                return longest;
            }};
}

} // namespace bench::metrics
