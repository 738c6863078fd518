#pragma once

#include "cells/launch_listener.h"
#include "context/context.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// A file with the timelines of a launch. The constructor opens it.
class TraceWriter : public LaunchListener {
public:
    virtual void begin(const SamplingContext &context, const std::vector<Cell> &cells) = 0;
    virtual void end() = 0;
};

/// The samples that a trace shows: the first of each cell, without the warm-up, as a trace of all would be too large to
/// view. Counts the others.
class TraceSelection {
public:
    void begin(long samples, std::size_t cells) {
        limit_ = samples;
        shown_.assign(cells, 0);
    }

    /// The samples of the batch that are shown.
    std::vector<std::size_t> take(const BatchReport &report) {
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < report.batch.size(); ++i) {
            if (report.verdicts[i] == Verdict::warmup) {
                ++warmup_;
            } else if (shown_[report.cell] < limit_) {
                ++shown_[report.cell];
                chosen.push_back(i);
            } else {
                ++left_out_;
            }
        }
        return chosen;
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
