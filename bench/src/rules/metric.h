#pragma once

#include "rules/batch.h"
#include "text/field.h"

#include <string>
#include <vector>

namespace bench {

/// One number computed from one sample, seconds. Times in the operation are per call. Files say the attributes of the
/// field with each metric: `clock_bounds`, `step` and `label`.
struct Metric : Field {
    int clock_bounds; // largest error, in error bounds of the clock: 0 if it needs no common clock
    double (*value)(const Sample &sample);
    bool mean_of_ranks = false; // of the time that each spent in the operation

    Metric(std::string of_name, std::string of_meaning, std::string label, int bounds,
           double (*of_sample)(const Sample &sample), bool is_mean = false);

    /// Seconds between neighboring values, which clocks read in steps of `resolution`; 0 where each rank has a step of
    /// its own.
    double step(const Batch &batch) const {
        const double ranks = mean_of_ranks ? static_cast<double>(batch.timed.size()) : 1.0;
        return clock_bounds > 0 ? 0.0 : batch.resolution / static_cast<double>(batch.calls) / ranks;
    }
};

const std::vector<Metric> &all_metrics();

} // namespace bench
