#pragma once

#include "reporter.h"
#include "skew/results.h"

#include <vector>

namespace bench {

/// Keeps the attempts of each cell, warm-up apart, at rank 0.
class SkewRecorder : public Reporter {
public:
    explicit SkewRecorder(std::vector<SkewRecording> &recordings) : recordings_(recordings) {}

    void begin(const SamplingContext &, const std::vector<Cell> &) override {}
    void samples(const BatchReport &report) override {
        SkewRecording &recording = recordings_[report.cell];
        for (std::size_t i = 0; i < report.batch.size(); ++i) {
            if (report.verdicts[i] == Verdict::warmup) {
                continue;
            }
            const Sample sample = report.batch[i];
            recording.verdict.push_back(report.verdicts[i]);
            recording.deadline.push_back(sample.deadline);
            recording.entry.insert(recording.entry.end(), sample.sync_entry.begin(), sample.sync_entry.end());
            recording.exit.insert(recording.exit.end(), sample.entry.begin(), sample.entry.end());
        }
    }
    void cell(const CellResult &) override {}
    void end(const RunEnd &) override {}

private:
    std::vector<SkewRecording> &recordings_; // [cell]
};

} // namespace bench
