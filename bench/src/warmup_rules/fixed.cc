#include "warmup_rule.h"

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
    return {
        {"fixed", "so many calls", "", {{"calls", "10", "before every block", PartValues::whole(0, 1e6)}}},
        [](const Part &part) -> std::unique_ptr<WarmupRule> { return std::make_unique<Fixed>(part.whole("calls")); }};
}

} // namespace bench
