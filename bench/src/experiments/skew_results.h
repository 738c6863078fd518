// Results of `downbeat-bench skew`: when each rank left a synchronizer. The exit skew is the time from the first rank's
// exit to the last rank's.
#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/cell.h"
#include "rules/histogram.h"
#include "rules/statistics.h"

#include <string>
#include <vector>

namespace bench {

/// The samples of a synchronizer ("attempts"), in order. Times are s on the global clock.
struct SkewRecording {
    std::vector<std::size_t> block; // [attempt] index of its block in the launch
    std::vector<Verdict> verdict;   // [attempt]
    std::vector<double> deadline;   // [attempt] NaN if the synchronizer has none
    std::vector<double> entry;      // [attempt][rank] entry into the synchronizer
    std::vector<double> exit;       // [attempt][rank] exit from the synchronizer
    std::vector<double> true_exit;  // [attempt][rank] exit in true time; empty if unknown (not in a simulation)
};

/// The exits from a synchronizer. Statistics use valid attempts only; they are NaN without any.
struct Skew {
    SkewRecording recording;
    CellResult cell;
    Summary skew;                    // exit skew, s
    Histogram histogram;             // of the exit skew, s; without counts if no attempt is valid
    std::vector<MeanInterval> exits; // [rank] mean time after the first exit, s, with 95 % confidence interval
};

/// Computes the statistics of a recording.
Skew study_skew(SkewRecording recording, const CellResult &cell, std::size_t ranks);

/// The options of the subcommand.
struct SkewOptions {
    long repetitions = 1000; // valid samples of each synchronizer
    long max_attempts = 20;  // attempts per valid sample, before a block is given up
    long warmup = 10;        // calls that are discarded before each block
};

/// Warnings about the clocks: they do not agree at the end, or their error bound is not small compared with a skew.
std::vector<std::string> find_skew_warnings(const std::vector<Skew> &skews, const ClockAgreement &agreement);

Dataset skew_dataset(const Context &context, const SkewOptions &options, const std::vector<Skew> &skews);

} // namespace bench
