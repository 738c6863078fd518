#include "rules/stopping_rule.h"

#include <algorithm>

namespace bench {
namespace {

// The first block sets the pace of the others: few samples, because one may take a large part of the budget, but enough
// that a single slow one does not count much.
constexpr long first_block = 10; // samples

class Budget : public StoppingRule {
public:
    Budget(double seconds, long most) : seconds_(seconds), most_(most) {}

    long next_block(const CellProgress &progress) const override {
        const double left = seconds_ - progress.seconds;
        const long missing = most_ - progress.valid;
        if (progress.blocks == 0) {
            return std::min(first_block, missing);
        }
        if (left <= 0.0 || missing <= 0) {
            return 0;
        }
        if (progress.valid == 0) {
            return first_block;
        }
        const double pace = progress.seconds / static_cast<double>(progress.valid);
        const double share = std::min(left, seconds_ / static_cast<double>(blocks_per_cell));
        return std::clamp(static_cast<long>(std::min(share / pace, 1e9)), 1L, missing);
    }
    bool satisfied(const CellProgress &progress) const override { return progress.valid >= least(); }

private:
    double seconds_;
    long most_;
};

} // namespace

StoppingRuleInfo stopping_rules::budget() {
    return {{"budget",
             "as many samples as fit into a time, including rejected ones and warm-up",
             "Hunold 2018 (Round-Time)",
             {{"time", "1s", "time per cell", ComponentValues::duration(1e-6, 1e6)},
              {"most", "1000000", "largest number of valid samples per cell", ComponentValues::whole(1, 1e9)}}},
            [](const Component &component) -> std::unique_ptr<StoppingRule> {
                return std::make_unique<Budget>(component.seconds("time"), component.whole("most"));
            }};
}

} // namespace bench
