#include "patterns/arrival_pattern.h"

namespace bench {
namespace {

class HalfLate : public ArrivalPattern {
public:
    HalfLate(int ranks, bool alternating) : early_((ranks + 1) / 2), alternating_(alternating) {}
    double share(int place, long) const override {
        const bool late = alternating_ ? place % 2 == 1 : place >= early_;
        return late ? 1.0 : 0.0;
    }

private:
    int early_;
    bool alternating_;
};

} // namespace

PatternInfo patterns::half_late() {
    return {{"half_late",
             "half of the ranks late",
             "",
             {{"layout", "blocked", "the upper half, or every second rank",
               ComponentValues::choice({"blocked", "alternating"})}}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<HalfLate>(arguments.ranks, arguments.component.word("layout") == "alternating");
            }};
}

} // namespace bench
