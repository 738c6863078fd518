#pragma once

#include "reporter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bench {

/// The samples that a trace shows: the first so many of each cell, without the warm-up, since a trace of all would be
/// too large to look at. Counts the others, so that the trace can say so.
class TraceSelection {
public:
    void begin(long samples, std::size_t cells) {
        limit_ = samples;
        shown_.assign(cells, 0);
    }

    /// How many samples, from its first on, this batch contributes.
    std::size_t take(const BatchReport &report) {
        const auto size = static_cast<long>(report.batch.size());
        if (report.verdicts.front() == Verdict::warmup) {
            warmup_ += size;
            return 0;
        }
        const long shown = std::min(limit_ - shown_[report.cell], size);
        shown_[report.cell] += shown;
        left_out_ += size - shown;
        return static_cast<std::size_t>(shown);
    }

    long left_out() const { return left_out_; }
    long warmup() const { return warmup_; } // all left out

private:
    long limit_ = 0;
    long left_out_ = 0;
    long warmup_ = 0;
    std::vector<long> shown_; // per cell
};

/// Seconds as whole nanoseconds.
inline std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

} // namespace bench
