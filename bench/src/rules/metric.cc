// The list of metrics (metric.h). Each is a row with its name, meaning, properties and a function of a sample.
#include "rules/metric.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

namespace bench {

Field Metric::field() const {
    // Attribute `step` is a formula for readers of files: the metric's step is the clock's resolution divided by the
    // numbers that it names.
    const char *const step = traits.bounds > 0 ? "none" : traits.mean_of_ranks ? "per call and timed rank" : "per call";
    Field field{name, "s", meaning};
    field.attributes = {{"clock_bounds", long{traits.bounds}}, {"step", step}, {"label", label}};
    return field;
}

namespace {

/// The times of the timed ranks in the operation per call, s. A view: they are computed when they are read.
auto latencies(const Sample &sample) {
    return std::views::transform(sample.timed, [&sample](std::size_t rank) { return latency(sample, rank); });
}

} // namespace

const std::vector<Metric> &all_metrics() {
    static const std::vector<Metric> all = {
        {"latency_avg", "time in the operation, mean over ranks (OSU's average latency, t_avg)",
         "latency, mean over ranks", MetricTraits{.mean_of_ranks = true, .group = "latency"},
         [](const Sample &sample) {
             const auto times = latencies(sample);
             return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(sample.timed.size());
         }},
        {"latency_max", "time in the operation, largest over ranks", "latency, largest over ranks",
         MetricTraits{.group = "latency", .heading = "slowest"},
         [](const Sample &sample) { return std::ranges::max(latencies(sample)); }},
        {"latency_min", "time in the operation, smallest over ranks", "latency, smallest over ranks", MetricTraits{},
         [](const Sample &sample) { return std::ranges::min(latencies(sample)); }},
        {"latency_observed", "time in the operation on the rank that --observe names (as mpptest does for rank 0)",
         "latency of the observed rank", MetricTraits{},
         [](const Sample &sample) { return latency(sample, sample.observed); }},
        {"global_time", "time from the first entry to the last exit (t_global, Niethammer 2016, Eq. 4)",
         "first entry to last exit", MetricTraits{.bounds = 2, .group = "global", .heading = "time"},
         [](const Sample &sample) {
             return (last_exit(sample) - first_entry(sample)) / static_cast<double>(sample.calls);
         }},
        {"makespan", "time from the common start to the last exit; the start is the deadline, else the first entry",
         "common start to last exit", MetricTraits{.bounds = 2, .heading = "makespan"},
         [](const Sample &sample) {
             const double start = std::isnan(sample.deadline) ? first_entry(sample) : sample.deadline;
             return (last_exit(sample) - start) / static_cast<double>(sample.calls);
         }},
        {"after_last_entry", "time from the last entry to the last exit: the cost once all ranks have arrived",
         "last entry to last exit", MetricTraits{.bounds = 2, .group = "after", .heading = "last"},
         [](const Sample &sample) {
             return (last_exit(sample) - last_entry(sample)) / static_cast<double>(sample.calls);
         }},
        {"exit_skew",
         "time from the first rank's exit from the synchronizer to the last one's, delays subtracted (sigma)",
         "exit skew", MetricTraits{.bounds = 2, .is_time = false, .group = "exit skew"},
         [](const Sample &sample) {
             double first = sample.entry[0] - sample.delay[0];
             double last = first;
             for (std::size_t rank = 1; rank < sample.entry.size(); ++rank) {
                 first = std::min(first, sample.entry[rank] - sample.delay[rank]);
                 last = std::max(last, sample.entry[rank] - sample.delay[rank]);
             }
             return last - first;
         }},
        {"end_skew", "time from the first rank's exit from the operation to the last one's", "first to last exit",
         MetricTraits{.bounds = 2, .is_time = false},
         [](const Sample &sample) { return last_exit(sample) - *std::ranges::min_element(sample.exit); }},
        {"imbalance_worst", "time from the first to the last entry (worst-case imbalance time, Faraj 2007)",
         "first to last entry", MetricTraits{.bounds = 2, .is_time = false, .group = "imbalance", .heading = "worst"},
         [](const Sample &sample) { return last_entry(sample) - first_entry(sample); }},
        {"imbalance_mean",
         "mean distance of the ranks' entries from the mean entry (average-case imbalance time, Faraj 2007)",
         "mean distance of entries from their mean",
         MetricTraits{.bounds = 2, .is_time = false, .group = "imbalance", .heading = "mean"},
         [](const Sample &sample) {
             const auto ranks = static_cast<double>(sample.entry.size());
             const double mean = std::accumulate(sample.entry.begin(), sample.entry.end(), 0.0) / ranks;
             double sum = 0.0;
             for (const double entry : sample.entry) {
                 sum += std::abs(entry - mean);
             }
             return sum / ranks;
         }},
    };
    return all;
}

} // namespace bench
