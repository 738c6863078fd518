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
    long blocks = 0;                             // measured so far
    long valid = 0;                              // samples
    double seconds = 0.0;                        // spent on the cell, warm-up and rejected samples included
    bool starved = false;                        // the last block gave up before it had its samples
    std::span<const std::vector<double>> values; // of the valid samples in order, per metric of all_metrics()
    BlockSizes block_sizes;                      // these samples' blocks
    std::span<const double> steps = {};          // of the values, see median_interval, per metric; none where empty
};

/// Decides when a cell has been measured long enough.
class StoppingRule {
public:
    virtual ~StoppingRule() = default;

    /// Valid samples to measure in the next block; 0 to stop.
    virtual long next_block(const CellProgress &progress) const = 0;

    /// Whether a cell with this result is complete.
    virtual bool satisfied(const CellProgress &progress) const = 0;

    /// Blocks that an incomplete cell still takes, as far as can be said; at least so many if the rule is open-ended.
    virtual long blocks_left(const CellProgress &progress) const;

    /// Whether nobody can say how many blocks a cell takes, because that depends on what they show.
    virtual bool open_ended() const { return false; }

    /// Valid samples that a complete cell needs.
    virtual long least() const { return 1; }
};

struct StoppingRuleInfo : ComponentInfo {
    std::unique_ptr<StoppingRule> (*make)(const Component &component);
};

namespace stopping_rules {
StoppingRuleInfo budget();
StoppingRuleInfo precision();
} // namespace stopping_rules

const std::vector<StoppingRuleInfo> &all_stopping_rules();

/// A cell is measured in this many blocks, so that a temporary disturbance affects parts of many cells and not all of
/// one.
constexpr long blocks_per_cell = 10;

inline long StoppingRule::blocks_left(const CellProgress &progress) const {
    return std::max(blocks_per_cell - progress.blocks, 1L);
}

} // namespace bench
