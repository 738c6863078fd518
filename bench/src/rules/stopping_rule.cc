#include "rules/stopping_rule.h"

#include <algorithm>

namespace bench {
namespace {

class Fixed : public StoppingRule {
public:
    explicit Fixed(long samples) : samples_(samples), blocks_(std::min(blocks_per_cell, samples)) {}

    long next_block(const CellProgress &progress) const override {
        if (progress.blocks >= blocks_) { // makes up for blocks that gave up, later, when the machine may be calmer
            return progress.valid > 0 && progress.blocks < 2 * blocks_ ? samples_ - progress.valid : 0;
        }
        return samples_ / blocks_ + (progress.blocks < samples_ % blocks_ ? 1 : 0);
    }
    long blocks_left(const CellProgress &progress) const override { return std::max(blocks_ - progress.blocks, 1L); }
    bool satisfied(const CellProgress &progress) const override { return progress.valid >= samples_; }
    long least() const override { return samples_; }

private:
    long samples_;
    long blocks_;
};

} // namespace

const std::vector<StoppingRuleInfo> &all_stopping_rules() {
    static const std::vector<StoppingRuleInfo> all = {
        {{"fixed",
          "a fixed number of valid samples",
          "",
          {{"samples", "1000", "valid samples per cell", ComponentValues::whole(1, 1e9)}}},
         [](const Component &component) -> std::unique_ptr<StoppingRule> {
             return std::make_unique<Fixed>(component.whole("samples"));
         }},
        stopping_rules::budget(),
        stopping_rules::precision()};
    return all;
}

} // namespace bench
