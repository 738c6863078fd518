#pragma once

#include "cell.h"
#include "clock_agreement.h"
#include "context.h"
#include "dataset.h"
#include "histogram.h"
#include "statistics.h"
#include "validity.h"

#include <string>
#include <vector>

namespace bench {

/// What was recorded behind one synchronizer, attempt by attempt, in order. Seconds on the global clock.
struct SkewRecording {
    std::vector<Verdict> verdict;
    std::vector<double> deadline; // NaN where the synchronizer has none
    std::vector<double> entry;    // into the synchronizer, [attempt][rank]
    std::vector<double> exit;     // from the synchronizer, [attempt][rank]
};

/// How processes leave one synchronizer. Over the valid attempts; NaN where there are none.
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

/// Of the clocks: that they no longer agree, and what is not small against a skew.
std::vector<std::string> find_skew_warnings(const std::vector<Skew> &skews, const ClockAgreement &agreement);

std::string skew_table(const Context &context, const std::vector<Skew> &skews, const ClockAgreement &agreement);
Dataset skew_dataset(const Context &context, const SkewOptions &options, const std::vector<Skew> &skews);

} // namespace bench
