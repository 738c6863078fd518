#pragma once

#include "metrics/batch.h"

#include <algorithm>

namespace bench {

// What several metrics are made of.

inline double first_entry(const Sample &sample) { return *std::min_element(sample.entry.begin(), sample.entry.end()); }
inline double last_entry(const Sample &sample) { return *std::max_element(sample.entry.begin(), sample.entry.end()); }
inline double last_exit(const Sample &sample) { return *std::max_element(sample.exit.begin(), sample.exit.end()); }

/// Seconds per call that this rank spent in the operation.
inline double latency(const Sample &sample, std::size_t rank) {
    return (sample.exit[rank] - sample.entry[rank]) / static_cast<double>(sample.calls);
}

} // namespace bench
