#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/cell.h"
#include "rules/histogram.h"
#include "rules/statistics.h"

#include <string>
#include <vector>

namespace bench {

/// The recording after one synchronizer, attempt by attempt, in order. Seconds on the global clock.
struct SkewRecording {
    std::vector<std::size_t> block; // position in the order of the launch
    std::vector<Verdict> verdict;
    std::vector<double> deadline;  // NaN if the synchronizer has none
    std::vector<double> entry;     // into the synchronizer, [attempt][rank]
    std::vector<double> exit;      // from the synchronizer, [attempt][rank]
    std::vector<double> true_exit; // the same in true time; nothing where that is not known
};

/// How processes leave one synchronizer. Over the valid attempts; NaN if there are none.
struct Skew {
    SkewRecording recording;
    CellResult cell;
    Summary skew;                    // from the first exit to the last, seconds
    Histogram histogram;             // of the same; nothing in it where no attempt is valid
    std::vector<MeanInterval> exits; // of each rank after the first that left, seconds, with confidence 95 %
};

Skew study_skew(SkewRecording recording, const CellResult &cell, std::size_t ranks);

struct SkewOptions {
    long repetitions = 1000;
    long max_attempts = 20; // per repetition
    long warmup = 10;       // calls before each block
};

/// Warnings about the clocks: they no longer agree, or their error bound is not small compared with a skew.
std::vector<std::string> find_skew_warnings(const std::vector<Skew> &skews, const ClockAgreement &agreement);

Dataset skew_dataset(const Context &context, const SkewOptions &options, const std::vector<Skew> &skews);

} // namespace bench
