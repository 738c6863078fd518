#pragma once

#include "metrics/batch.h"

#include <algorithm>

namespace bench {

inline double first_entry(const Sample &sample) { return *std::min_element(sample.entry.begin(), sample.entry.end()); }
inline double last_entry(const Sample &sample) { return *std::max_element(sample.entry.begin(), sample.entry.end()); }
inline double last_exit(const Sample &sample) { return *std::max_element(sample.exit.begin(), sample.exit.end()); }

/// Seconds from the planned start of the rank that started latest to its entry; NaN without a deadline.
inline double lateness(const Sample &sample) {
    double latest = sample.entry[0] - sample.delay[0];
    for (std::size_t rank = 1; rank < sample.entry.size(); ++rank) {
        latest = std::max(latest, sample.entry[rank] - sample.delay[rank]);
    }
    return latest - sample.deadline;
}

/// Seconds per call that this rank spent in the operation.
inline double latency(const Sample &sample, std::size_t rank) {
    return (sample.exit[rank] - sample.entry[rank]) / static_cast<double>(sample.calls);
}

} // namespace bench
