#include "cell.h"

#include "metric.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace bench {

std::string describe(const Cell &cell) {
    const std::string size = cell.size == 0 ? "" : fmt::format(" of {} bytes", cell.size);
    return fmt::format("{}{} under {}", cell.operation, size, cell.synchronizer);
}

std::string to_string(CellStatus status) {
    constexpr const char *names[] = {"ok", "incomplete", "failed"};
    return names[static_cast<std::size_t>(status)];
}

const Summary &CellResult::metric(const std::string &name) const {
    const auto &all = all_metrics();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Metric &metric) { return metric.name == name; });
    return metrics.at(static_cast<std::size_t>(found - all.begin()));
}

CellRecord::CellRecord(std::size_t index, Cell cell, long requested)
    : result_{.index = index,
              .cell = std::move(cell),
              .status = CellStatus::failed,
              .requested = requested,
              .valid = 0,
              .late_flag = 0,
              .late_entry = 0,
              .error_bound = 0.0,
              .slack = std::numeric_limits<double>::quiet_NaN(),
              .metrics = {}},
      values_(all_metrics().size()) {}

void CellRecord::add(const Batch &batch, const std::vector<Verdict> &verdicts) {
    result_.error_bound = std::max(result_.error_bound, batch.error_bound);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        result_.late_flag += verdicts[i] == Verdict::late_flag ? 1 : 0;
        result_.late_entry += verdicts[i] == Verdict::late_entry ? 1 : 0;
        if (verdicts[i] != Verdict::valid) {
            continue;
        }
        ++result_.valid;
        if (!std::isnan(batch.slack[i])) {
            slack_.push_back(batch.slack[i]);
        }
        for (std::size_t m = 0; m < values_.size(); ++m) {
            values_[m].push_back(all_metrics()[m].value(batch[i]));
        }
    }
}

CellResult CellRecord::summarize() const {
    CellResult result = result_;
    result.status = result.valid == 0                 ? CellStatus::failed
                    : result.valid < result.requested ? CellStatus::incomplete
                                                      : CellStatus::ok;
    result.slack = bench::summarize(slack_).median;
    for (const std::vector<double> &values : values_) {
        result.metrics.push_back(bench::summarize(values));
    }
    return result;
}

} // namespace bench
