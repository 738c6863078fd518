#pragma once

#include "rules/metric.h"
#include "rules/stopping_rule.h"
#include "text/words.h"

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace bench {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Deadlines and slacks per sample; the others [sample][rank]. Ranks call the synchronizer one unit before they enter,
/// and without delays.
inline Batch samples(std::size_t ranks, std::vector<double> deadline, std::vector<double> slack,
                     std::vector<double> entry, std::vector<double> exit, std::vector<std::uint8_t> flag,
                     double unit = 1.0) {
    Batch batch;
    batch.ranks = ranks;
    batch.deadline = std::move(deadline);
    batch.slack = std::move(slack);
    batch.sync_entry = entry;
    for (double &time : batch.sync_entry) {
        time -= 1.0;
    }
    batch.entry = std::move(entry);
    batch.exit = std::move(exit);
    for (std::vector<double> *times : {&batch.deadline, &batch.slack, &batch.sync_entry, &batch.entry, &batch.exit}) {
        for (double &time : *times) {
            time *= unit;
        }
    }
    batch.end.assign(batch.deadline.size(), none);
    batch.delay.assign(batch.entry.size(), 0.0);
    batch.computed.assign(batch.entry.size(), 0.0);
    batch.timed.resize(ranks);
    std::iota(batch.timed.begin(), batch.timed.end(), 0);
    batch.flag = std::move(flag);
    batch.unsure.assign(batch.flag.size(), 0);
    return batch;
}

/// Stopping rule fixed(samples=...).
inline std::unique_ptr<StoppingRule> wanting(long samples) {
    const Component component =
        parse_component("rule", fmt::format("fixed(samples={})", samples), all_stopping_rules());
    return find_by_name(all_stopping_rules(), "fixed").make(component);
}

/// A batch of one sample.
inline Batch one_sample(double deadline, const std::vector<double> &entry, const std::vector<double> &exit,
                        const std::vector<std::uint8_t> &flag) {
    return samples(entry.size(), {deadline}, {none}, entry, exit, flag);
}

} // namespace bench
