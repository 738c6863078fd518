#include "patterns/arrival_pattern.h"

#include <algorithm>

namespace bench {
namespace {

class Ramp : public ArrivalPattern {
public:
    Ramp(int ranks, bool descending) : last_(std::max(ranks - 1, 1)), descending_(descending) {}
    double share(int place, long) const override {
        return static_cast<double>(descending_ ? last_ - place : place) / last_;
    }

private:
    int last_;
    bool descending_;
};

} // namespace

PatternInfo patterns::ascending() {
    return {{"ascending", "each rank later than the one before, in equal steps", "", {}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<Ramp>(arguments.ranks, false);
            }};
}

PatternInfo patterns::descending() {
    return {{"descending", "each rank earlier than the one before, in equal steps", "", {}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<Ramp>(arguments.ranks, true);
            }};
}

} // namespace bench
