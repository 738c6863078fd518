#pragma once

#include "output/context.h"
#include "output/format.h"
#include "rules/cell.h"

#include <string>
#include <vector>

namespace bench {

/// A variable of samples: of a batch, [sample] or [sample][rank].
struct SampleField : FieldOf<BatchReport> {
    bool per_rank = false;
};

/// All that is stored of a sample; each metric is one of them.
const std::vector<SampleField> &sample_fields();

/// Writes the samples and cells of a launch to all sinks as they come.
class LaunchWriter : public LaunchListener {
public:
    LaunchWriter(Sinks sinks, const SamplingContext &context, const std::vector<Cell> &cells);

    void samples(const BatchReport &report) override;
    void cell(const CellResult &result) override;
    void end(const RunEnd &end);

private:
    /// To each sink.
    void write(const Rows &rows);
    std::size_t index_of(const std::string &name) const;

    Sinks sinks_;
    Dataset described_;
    std::size_t samples_written_ = 0;
    std::size_t timed_ = 0; // indices of variables
    std::size_t calls_ = 0;
    std::size_t first_sample_field_ = 0;
};

} // namespace bench
