#include "rules/metric.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bench {

Metric::Metric(std::string of_name, std::string of_meaning, std::string label, int bounds,
               double (*of_sample)(const Sample &sample), bool is_mean)
    : Field{std::move(of_name), "s", std::move(of_meaning)}, clock_bounds(bounds), value(of_sample),
      mean_of_ranks(is_mean) {
    // Of the clock's resolution: all of it for each call, or a share of it for each rank too.
    const char *const of_resolution = clock_bounds > 0 ? "none"
                                      : mean_of_ranks  ? "per call and timed rank"
                                                       : "per call";
    attributes = {{"clock_bounds", long{clock_bounds}}, {"step", of_resolution}, {"label", std::move(label)}};
}

const std::vector<Metric> &all_metrics() {
    static const std::vector<Metric> all = {
        {"latency_avg", "time in the operation, mean over ranks (OSU's average latency, t_avg)",
         "latency, mean over ranks", 0,
         [](const Sample &sample) {
             double sum = 0.0;
             for (const std::size_t rank : sample.timed) {
                 sum += latency(sample, rank);
             }
             return sum / static_cast<double>(sample.timed.size());
         },
         true},
        {"latency_max", "time in the operation, largest over ranks", "latency, largest over ranks", 0,
         [](const Sample &sample) {
             double longest = latency(sample, sample.timed[0]);
             for (const std::size_t rank : sample.timed) {
                 longest = std::max(longest, latency(sample, rank));
             }
             return longest;
         }},
        {"latency_min", "time in the operation, smallest over ranks", "latency, smallest over ranks", 0,
         [](const Sample &sample) {
             double shortest = latency(sample, sample.timed[0]);
             for (const std::size_t rank : sample.timed) {
                 shortest = std::min(shortest, latency(sample, rank));
             }
             return shortest;
         }},
        {"latency_observed", "time in the operation on the rank that --observe names (as mpptest does for rank 0)",
         "latency of the observed rank", 0, [](const Sample &sample) { return latency(sample, sample.observed); }},
        {"global_time", "time from the first entry to the last exit (t_global, Niethammer 2016, Eq. 4)",
         "first entry to last exit", 2,
         [](const Sample &sample) {
             return (last_exit(sample) - first_entry(sample)) / static_cast<double>(sample.calls);
         }},
        {"makespan", "time from the common start to the last exit; the start is the deadline, else the first entry",
         "common start to last exit", 2,
         [](const Sample &sample) {
             const double start = std::isnan(sample.deadline) ? first_entry(sample) : sample.deadline;
             return (last_exit(sample) - start) / static_cast<double>(sample.calls);
         }},
        {"after_last_entry", "time from the last entry to the last exit: the cost once all ranks have arrived",
         "last entry to last exit", 2,
         [](const Sample &sample) {
             return (last_exit(sample) - last_entry(sample)) / static_cast<double>(sample.calls);
         }},
        {"exit_skew",
         "time from the first rank's exit from the synchronizer to the last one's, delays subtracted (sigma)",
         "exit skew", 2,
         [](const Sample &sample) {
             double first = sample.entry[0] - sample.delay[0];
             double last = first;
             for (std::size_t rank = 1; rank < sample.entry.size(); ++rank) {
                 first = std::min(first, sample.entry[rank] - sample.delay[rank]);
                 last = std::max(last, sample.entry[rank] - sample.delay[rank]);
             }
             return last - first;
         }},
        {"end_skew", "time from the first rank's exit from the operation to the last one's", "first to last exit", 2,
         [](const Sample &sample) { return last_exit(sample) - *std::ranges::min_element(sample.exit); }},
        {"imbalance_worst", "time from the first to the last entry (worst-case imbalance time, Faraj 2007)",
         "first to last entry", 2, [](const Sample &sample) { return last_entry(sample) - first_entry(sample); }},
        {"imbalance_mean",
         "mean distance of the ranks' entries from the mean entry (average-case imbalance time, Faraj 2007)",
         "mean distance of entries from their mean", 2,
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
