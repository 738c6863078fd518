// Stopping rules: when a cell has enough samples. A cell is measured in blocks; after each block, the rule returns the
// number of samples of the next block, or 0.
#pragma once

#include "rules/statistics.h"
#include "text/component.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace bench {

/// The state of a cell between two blocks of its samples.
struct CellProgress {
    long blocks = 0;                             // measured blocks
    long valid = 0;                              // valid samples
    double seconds = 0.0;                        // time spent on the cell, including warm-up and rejected samples
    bool starved = false;                        // the last block used up its attempts before it had its valid samples
    std::span<const std::vector<double>> values; // [metric][valid sample], in the order of all_metrics()
    BlockSizes block_sizes;                      // valid samples per block
    std::span<const double> steps = {};          // clock step of each metric, see median_interval; empty: no steps
};

/// Decides when a cell has been measured long enough.
class StoppingRule {
public:
    virtual ~StoppingRule() = default;

    /// The number of valid samples to measure in the next block; 0 to stop.
    virtual long next_block(const CellProgress &progress) const = 0;

    /// True if a cell that has stopped with this progress is complete.
    virtual bool satisfied(const CellProgress &progress) const = 0;

    /// The estimated number of blocks until the cell is complete; a lower bound if the rule is open-ended. For progress
    /// reports.
    virtual long blocks_left(const CellProgress &progress) const;

    /// True if the number of blocks depends on the measured values.
    virtual bool open_ended() const { return false; }

    /// The smallest number of valid samples of a complete cell.
    virtual long min_samples() const { return 1; }
};

/// A stopping rule as an option names it.
struct StoppingRuleInfo : ComponentInfo {
    std::unique_ptr<StoppingRule> (*make)(const Component &component);
};

namespace stopping_rules {
StoppingRuleInfo budget();
StoppingRuleInfo precision();
} // namespace stopping_rules

/// All stopping rules, in the order of help texts.
const std::vector<StoppingRuleInfo> &all_stopping_rules();

/// Number of blocks of a cell (a rule may use more or fewer). Blocks of different cells alternate, so a temporary
/// disturbance affects a few blocks of many cells and not all samples of a cell.
constexpr long blocks_per_cell = 10;

inline long StoppingRule::blocks_left(const CellProgress &progress) const {
    return std::max(blocks_per_cell - progress.blocks, 1L);
}

} // namespace bench
