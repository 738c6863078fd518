// Warm-up rules: the number of calls to discard before each block of samples, because caches, connections and
// frequencies are not in their steady state. Warm-up calls are recorded with verdict `warmup`.
#pragma once

#include "text/component.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bench {

/// Decides on the warm-up calls of a block: either a fixed number(), or step by step with next().
class WarmupRule {
public:
    virtual ~WarmupRule() = default;

    /// The number of warm-up calls if it is fixed; they then run in one batch with the samples. Empty if the number
    /// depends on the times of the calls.
    virtual std::optional<long> number() const { return std::nullopt; }

    /// The number of further warm-up calls; 0 if the block may begin. The argument has the times of the block's warm-up
    /// calls so far, in order: means over ranks, s.
    virtual long next(std::span<const double>) const { return 0; }

    /// True if the times show that calls are stationary. False if the warm-up ended at its maximum.
    virtual bool settled(std::span<const double>) const { return true; }
};

/// A warm-up rule as an option names it.
struct WarmupRuleInfo : ComponentInfo {
    std::unique_ptr<WarmupRule> (*make)(const Component &component);
};

namespace warmup_rules {
WarmupRuleInfo stationary();
} // namespace warmup_rules

/// All warm-up rules, in the order of help texts.
const std::vector<WarmupRuleInfo> &all_warmup_rules();

} // namespace bench
