// Samples and metrics. A sample is an attempt to run an operation from a common start, with the timestamps of all
// ranks; a batch is a series of samples of a cell. A metric computes a number from a sample, e.g. its mean latency.
#pragma once

#include "text/field.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// A sample. Times are seconds on the global clock; spans have an element per rank unless noted.
struct Sample {
    double deadline;                      // common start; NaN if the synchronizer has none
    double end;                           // time by which all ranks must leave the operation; NaN: no limit
    std::span<const double> sync_entry;   // entry into the synchronizer
    std::span<const double> entry;        // entry into the operation
    std::span<const double> exit;         // exit from the operation
    std::span<const double> delay;        // planned delay of the rank's start after the common start, s
    std::span<const double> computed;     // computation between entry and exit, s
    std::span<const std::uint8_t> flag;   // 0: the synchronizer reports that this rank's start failed
    std::span<const std::uint8_t> unsure; // 1: it failed because the rank does not know its clock well enough
    std::span<const std::size_t> timed;   // the ranks over which latency metrics are computed, by number
    long calls;                           // calls of the operation between entry and exit, times their weight
    std::size_t observed;                 // rank that metric latency_observed reports
};

/// Consecutive samples of a cell. Arrays over ranks are sample-major: [sample][rank]. Members have the meaning of those
/// of Sample.
struct Batch {
    std::size_t ranks = 0;
    long calls = 1;
    std::size_t observed = 0;
    double resolution = 0.0;  // step in which stamps advance, s, largest over the ranks; 0: unknown, as in a simulation
    double error_bound = 0.0; // error bound of the global clock, s, largest over the ranks and all stamps
    double expected_error = 0.0; // standard deviation of its error, s, largest over the ranks and all stamps

    std::vector<std::size_t> timed;

    std::vector<double> deadline;     // s, per sample
    std::vector<double> slack;        // time from the decision on the deadline to the deadline, s, per sample; or NaN
    std::vector<double> end;          // s, per sample
    std::vector<double> sync_entry;   // s, [sample][rank]
    std::vector<double> entry;        // s, [sample][rank]
    std::vector<double> exit;         // s, [sample][rank]
    std::vector<double> delay;        // s, [sample][rank]
    std::vector<double> computed;     // s, [sample][rank]
    std::vector<std::uint8_t> flag;   // [sample][rank]
    std::vector<std::uint8_t> unsure; // [sample][rank]
    std::vector<double> true_entry;   // entry in true time, s, [sample][rank]; empty if unknown (not in a simulation)

    std::size_t size() const { return deadline.size(); }

    Sample operator[](std::size_t i) const {
        const auto row = [&](const auto &values) { return std::span(values).subspan(i * ranks, ranks); };
        return {deadline[i],   end[i],    row(sync_entry), row(entry), row(exit), row(delay),
                row(computed), row(flag), row(unsure),     timed,      calls,     observed};
    }
};

/// Times of the first and last rank, s on the global clock.
inline double first_entry(const Sample &sample) { return *std::ranges::min_element(sample.entry); }
inline double last_entry(const Sample &sample) { return *std::ranges::max_element(sample.entry); }
inline double last_exit(const Sample &sample) { return *std::ranges::max_element(sample.exit); }

/// The largest time over ranks from a rank's planned start to its entry, s; NaN without a deadline.
inline double lateness(const Sample &sample) {
    double latest = sample.entry[0] - sample.delay[0];
    for (std::size_t rank = 1; rank < sample.entry.size(); ++rank) {
        latest = std::max(latest, sample.entry[rank] - sample.delay[rank]);
    }
    return latest - sample.deadline;
}

/// Time of `rank` in the operation per call, s.
inline double latency(const Sample &sample, std::size_t rank) {
    return (sample.exit[rank] - sample.entry[rank]) / static_cast<double>(sample.calls);
}

/// Properties of a metric. A metric with neither `group` nor `heading` is in no table.
struct MetricTraits {
    int bounds = 0;             // largest error of the metric, in error bounds of the clock; 0: needs no common clock
    bool is_time = true;        // smaller means faster
    bool mean_of_ranks = false; // mean over ranks of their times in the operation
    std::string group = "";     // common heading of its statistics in tables; "" for none
    std::string heading = "";   // heading instead of the statistic's name; "" for the statistic's name
};

/// A number computed from a sample, in seconds. Times in the operation are per call.
struct Metric {
    std::string name;    // in files and options
    std::string meaning; // for help texts and files
    std::string label;   // for the axis of a plot
    MetricTraits traits;
    double (*value)(const Sample &sample); // computes the metric, s

    /// The field of the metric, with attributes `clock_bounds`, `step` and `label` for files.
    Field field() const;

    /// Distance between neighboring values of the metric, s, because clocks advance in steps of `resolution`. 0 if
    /// values have no common step: metrics that compare ranks do not, since each rank's clock has its own step. A mean
    /// over ranks has a step if their clocks have the same one; `resolution` is then that of all ranks.
    double step(const Batch &batch) const {
        const double ranks = traits.mean_of_ranks ? static_cast<double>(batch.timed.size()) : 1.0;
        return traits.bounds > 0 ? 0.0 : batch.resolution / static_cast<double>(batch.calls) / ranks;
    }
};

/// All metrics, in the order of tables and files.
const std::vector<Metric> &all_metrics();

} // namespace bench
