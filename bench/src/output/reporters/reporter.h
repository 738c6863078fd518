#pragma once

#include "cells/cell.h"
#include "cells/validity.h"
#include "context/clock_agreement.h"
#include "context/context.h"
#include "metrics/batch.h"

#include <span>
#include <string>
#include <vector>

namespace bench {

/// The samples of a batch and where they stand in the launch.
struct BatchReport {
    std::size_t cell;
    std::size_t block;  // position in the order of the launch
    long first_attempt; // of the batch, within its cell, from 0, warm-up included
    const Batch &batch;
    const std::vector<Verdict> &verdicts; // per sample
    double canary;                        // seconds, round trip of a cache line before the block; NaN if there is none
};

/// What is known when the last cell is complete.
struct RunEnd {
    ClockAgreement agreement;
    std::vector<std::string> warnings;
};

/// Something that results are written to, at rank 0 alone. Opening it is the constructor's work; all calls throw Error
/// where writing fails.
class Reporter {
public:
    virtual ~Reporter() = default;

    /// Before the first sample.
    virtual void begin(const SamplingContext &context, const std::vector<Cell> &cells) = 0;

    /// After each batch; who keeps summaries only has nothing to do.
    virtual void samples(const BatchReport &) {}

    /// When a cell is complete.
    virtual void cell(const CellResult &result) = 0;

    /// After the last cell.
    virtual void end(const RunEnd &end) = 0;
};

} // namespace bench
