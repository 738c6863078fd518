#pragma once

#include "cells/cell.h"
#include "cells/validity.h"
#include "context/clock_agreement.h"
#include "context/context.h"
#include "metrics/batch.h"
#include "output/dataset.h"
#include "output/output.h"

#include <algorithm>
#include <string>
#include <vector>

namespace bench {

/// The samples of a batch and their place in the launch.
struct BatchReport {
    std::size_t cell;
    std::size_t block;  // position in the order of the launch
    long first_attempt; // of the batch, within its cell, from 0, warm-up included
    const Batch &batch;
    const std::vector<Verdict> &verdicts; // per sample
    double canary;                        // seconds, round trip of a cache line before the block; NaN if there is none
};

/// Results that are known when the last cell is complete.
struct RunEnd {
    ClockAgreement agreement;
    std::vector<std::string> warnings;
};

/// The results of a subcommand other than the measurement of operations.
struct Findings {
    Dataset data;
    std::string table;                 // of format table, between the lines about the machine and the warnings
    std::vector<std::string> warnings; // of the subcommand itself
};

/// A file or standard output, at rank 0 alone: of cells, from begin() to end(), or of one dataset. The constructor
/// opens it, so that a file that cannot be written is noticed before the measurement. All calls throw Error if writing
/// fails.
class Reporter {
public:
    virtual ~Reporter() = default;

    /// Before the first sample.
    virtual void begin(const SamplingContext &, const std::vector<Cell> &) {}

    /// After each batch.
    virtual void samples(const BatchReport &) {}

    /// When a cell is complete.
    virtual void cell(const CellResult &) {}

    /// After the last cell.
    virtual void end(const RunEnd &) {}

    /// In place of all of them; formats that are of cells alone are not asked to.
    virtual void findings(const Context &, const Findings &) {}
};

/// Prints all results at the end of the run, in the order of the cells.
class ClosingReporter : public Reporter {
public:
    explicit ClosingReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override { context_ = context; }
    void cell(const CellResult &result) override { results_.push_back(result); }
    void end(const RunEnd &end) override {
        std::ranges::sort(results_, {}, &CellResult::index);
        output_.finish(text(end));
    }

protected:
    const SamplingContext &context() const { return context_; }
    const std::vector<CellResult> &results() const { return results_; }
    Output &output() { return output_; }

private:
    virtual std::string text(const RunEnd &end) const = 0;

    Output output_;
    SamplingContext context_;
    std::vector<CellResult> results_;
};

} // namespace bench
