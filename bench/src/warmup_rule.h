#pragma once

#include "part.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bench {

/// How long calls run before each block whose samples do not count. They are recorded, with the verdict `warmup`.
class WarmupRule {
public:
    virtual ~WarmupRule() = default;

    /// How many there are where that does not depend on what they take, so that they and the samples can be made in one
    /// go; else none.
    virtual std::optional<long> number() const { return std::nullopt; }

    /// Otherwise: how many more are to run; 0 where the block may begin. `times`: what those of this block took so far,
    /// in order, seconds, mean over ranks.
    virtual long next(std::span<const double>) const { return 0; }
};

struct WarmupRuleInfo : PartInfo {
    std::unique_ptr<WarmupRule> (*make)(const Part &part);
};

// One line per rule; warmup_rules/<name>.cc defines the function of that name.
#define BENCH_WARMUP_RULES(RULE)                                                                                       \
    RULE(fixed)                                                                                                        \
    RULE(stationary)

namespace warmup_rules {
#define BENCH_DECLARE(name) WarmupRuleInfo name();
BENCH_WARMUP_RULES(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace warmup_rules

const std::vector<WarmupRuleInfo> &all_warmup_rules();

} // namespace bench
