#pragma once

#include "metrics/batch.h"

#include <string>
#include <vector>

namespace bench {

/// One number computed from one sample. Times in the operation are per call.
struct Metric {
    std::string name;
    std::string description;
    std::string unit;
    int error_bounds; // largest error, in error bounds of the clock: 0 if it needs no common clock
    double (*value)(const Sample &sample);
    bool mean_of_ranks = false; // of the time that each spent in the operation

    /// Seconds between neighboring values, which clocks read in steps of `resolution`; 0 where each rank has a step of
    /// its own.
    double step(const Batch &batch) const {
        const double ranks = mean_of_ranks ? static_cast<double>(batch.timed.size()) : 1.0;
        return error_bounds > 0 ? 0.0 : batch.resolution / static_cast<double>(batch.calls) / ranks;
    }
};

const std::vector<Metric> &all_metrics();

} // namespace bench
