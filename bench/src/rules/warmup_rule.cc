#include "rules/warmup_rule.h"

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

const std::vector<WarmupRuleInfo> &all_warmup_rules() {
    static const std::vector<WarmupRuleInfo> all = {
        {{"fixed",
          "a fixed number of calls",
          "",
          {{"calls", "10", "calls before every block", ComponentValues::whole(0, 1e6)}}},
         [](const Component &component) -> std::unique_ptr<WarmupRule> {
             return std::make_unique<Fixed>(component.whole("calls"));
         }},
        warmup_rules::stationary()};
    return all;
}

} // namespace bench
