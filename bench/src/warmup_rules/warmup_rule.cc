#include "warmup_rules/warmup_rule.h"

namespace bench {
namespace {

class Fixed : public WarmupRule {
public:
    explicit Fixed(long calls) : calls_(calls) {}
    std::optional<long> number() const override { return calls_; }

private:
    long calls_;
};

} // namespace

WarmupRuleInfo warmup_rules::fixed() {
    return {{"fixed",
             "a fixed number of calls",
             "",
             {{"calls", "10", "calls before every block", ComponentValues::whole(0, 1e6)}}},
            [](const Component &component) -> std::unique_ptr<WarmupRule> {
                return std::make_unique<Fixed>(component.whole("calls"));
            }};
}

const std::vector<WarmupRuleInfo> &all_warmup_rules() {
#define BENCH_LIST(name) warmup_rules::name(),
    static const std::vector<WarmupRuleInfo> all = {BENCH_WARMUP_RULES(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
