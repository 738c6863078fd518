#include "patterns/arrival_pattern.h"

namespace bench {
namespace {

class None : public ArrivalPattern {
public:
    double share(int, long) const override { return 0.0; }
};

} // namespace

PatternInfo patterns::none() {
    return {{"none", "no delays: all ranks together", "", {}},
            false,
            [](const PatternArguments &) -> std::unique_ptr<ArrivalPattern> { return std::make_unique<None>(); }};
}

} // namespace bench
