#pragma once

#include "batch.h"

#include <string>
#include <vector>

namespace bench {

/// One number drawn from one sample.
struct Metric {
    std::string name;
    std::string description;
    std::string unit;
    double (*value)(const Sample &sample);
};

// One line per metric; metrics/<name>.cc defines the function of that name.
#define BENCH_METRICS(METRIC)                                                                                          \
    METRIC(latency_avg)                                                                                                \
    METRIC(latency_max)                                                                                                \
    METRIC(makespan)                                                                                                   \
    METRIC(exit_skew)

namespace metrics {
#define BENCH_DECLARE(name) Metric name();
BENCH_METRICS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace metrics

const std::vector<Metric> &all_metrics();

} // namespace bench
