#pragma once

#include "text/field.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// One sample: the timestamps of all ranks in one attempt, in seconds on the global clock.
struct Sample {
    double deadline;                      // NaN if the synchronizer has none
    double end;                           // time by which all ranks must have left; NaN if there is no limit
    std::span<const double> sync_entry;   // into the synchronizer
    std::span<const double> entry;        // into the operation
    std::span<const double> exit;         // from the operation
    std::span<const double> delay;        // seconds that the rank was to start after the common start
    std::span<const double> computed;     // seconds of computation between entry and exit
    std::span<const std::uint8_t> flag;   // 0 if the synchronizer reported that this rank's start failed
    std::span<const std::uint8_t> unsure; // 1 if it failed because the rank does not know its clock
    std::span<const std::size_t> timed;   // ranks whose time in the operation is its latency
    long calls;                           // number of operations between entry and exit, each weighted by its count
    std::size_t observed;                 // the rank whose own time is reported
};

/// Attempts of one cell that were made in one go, in order. Arrays over ranks are sample-major: [sample][rank].
struct Batch {
    std::size_t ranks = 0;
    long calls = 1;              // number of operations per sample, each weighted by its count
    std::size_t observed = 0;    // the rank whose own time is reported
    double resolution = 0.0;     // seconds, step in which stamps advance, largest over the ranks; 0: none is known
    double error_bound = 0.0;    // seconds, largest over the ranks and the stamps of all samples
    double expected_error = 0.0; // the same for one standard deviation

    std::vector<std::size_t> timed; // ranks whose time in the operation is its latency

    std::vector<double> deadline;     // seconds, per sample
    std::vector<double> slack;        // seconds, per sample; NaN if the synchronizer has none
    std::vector<double> end;          // seconds, per sample; NaN if the synchronizer has none
    std::vector<double> sync_entry;   // seconds, [sample][rank]
    std::vector<double> entry;        // seconds, [sample][rank]
    std::vector<double> exit;         // seconds, [sample][rank]
    std::vector<double> delay;        // seconds, [sample][rank]
    std::vector<double> computed;     // seconds of computation between entry and exit, [sample][rank]
    std::vector<std::uint8_t> flag;   // [sample][rank]
    std::vector<std::uint8_t> unsure; // [sample][rank]
    std::vector<double> true_entry;   // seconds of true time, [sample][rank]; nothing where that is not known

    std::size_t size() const { return deadline.size(); }

    Sample operator[](std::size_t i) const {
        const auto row = [&](const auto &values) { return std::span(values).subspan(i * ranks, ranks); };
        return {deadline[i],   end[i],    row(sync_entry), row(entry), row(exit), row(delay),
                row(computed), row(flag), row(unsure),     timed,      calls,     observed};
    }
};

inline double first_entry(const Sample &sample) { return *std::ranges::min_element(sample.entry); }
inline double last_entry(const Sample &sample) { return *std::ranges::max_element(sample.entry); }
inline double last_exit(const Sample &sample) { return *std::ranges::max_element(sample.exit); }

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

struct MetricTraits {
    int bounds = 0;             // largest error, in error bounds of the clock: 0 if it needs no common clock
    bool is_time = true;        // less of it is faster
    bool mean_of_ranks = false; // of the time that each spent in the operation
    std::string group = "";     // heading in tables above those of its statistics; "" for none
    std::string heading = "";   // in place of the statistic's name; without both it is in no table
};

/// One number computed from one sample, seconds. Times in the operation are per call.
struct Metric {
    std::string name;
    std::string meaning;
    std::string label; // for an axis
    MetricTraits traits;
    double (*value)(const Sample &sample);

    /// With the attributes of its variable: `clock_bounds`, `step` and `label`.
    Field field() const;

    /// Seconds between neighboring values, which clocks read in steps of `resolution`; 0 where each rank has a step of
    /// its own.
    double step(const Batch &batch) const {
        const double ranks = traits.mean_of_ranks ? static_cast<double>(batch.timed.size()) : 1.0;
        return traits.bounds > 0 ? 0.0 : batch.resolution / static_cast<double>(batch.calls) / ranks;
    }
};

const std::vector<Metric> &all_metrics();

} // namespace bench
