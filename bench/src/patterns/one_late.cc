#include "patterns/single_rank.h"

namespace bench {
namespace {

class OneLate : public ArrivalPattern {
public:
    explicit OneLate(int late) : late_(late) {}
    double share(int place, long) const override { return place == late_ ? 1.0 : 0.0; }

private:
    int late_;
};

} // namespace

PatternInfo patterns::one_late() {
    return {{"one_late",
             "one rank late, all others together",
             "Niethammer 2016, section III.D",
             {single_rank_parameter("the late rank")}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<OneLate>(single_rank(arguments));
            }};
}

} // namespace bench
