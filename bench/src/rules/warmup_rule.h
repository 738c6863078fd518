#pragma once

#include "text/component.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bench {

/// Decides how many calls run before each block without counting. They are recorded, with the verdict `warmup`.
class WarmupRule {
public:
    virtual ~WarmupRule() = default;

    /// The number of calls if it does not depend on their times, so that they can run in one batch with the samples;
    /// else none.
    virtual std::optional<long> number() const { return std::nullopt; }

    /// Otherwise: the number of further calls; 0 if the block may begin. `times`: the times of this block's calls so
    /// far, in order, seconds, mean over ranks.
    virtual long next(std::span<const double>) const { return 0; }

    /// Whether their times show that the block can begin; else they ended because the limit was reached.
    virtual bool settled(std::span<const double>) const { return true; }
};

struct WarmupRuleInfo : ComponentInfo {
    std::unique_ptr<WarmupRule> (*make)(const Component &component);
};

namespace warmup_rules {
WarmupRuleInfo stationary();
} // namespace warmup_rules

const std::vector<WarmupRuleInfo> &all_warmup_rules();

} // namespace bench
