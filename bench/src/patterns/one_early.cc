#include "patterns/single_rank.h"

namespace bench {
namespace {

class OneEarly : public ArrivalPattern {
public:
    explicit OneEarly(int early) : early_(early) {}
    double share(int place, long) const override { return place == early_ ? 0.0 : 1.0; }

private:
    int early_;
};

} // namespace

PatternInfo patterns::one_early() {
    return {{"one_early", "one rank on time, all others late together", "", {single_rank_parameter("the early rank")}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<OneEarly>(single_rank(arguments));
            }};
}

} // namespace bench
