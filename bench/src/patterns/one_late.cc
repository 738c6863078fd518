#include "arrival_pattern.h"

#include <fmt/format.h>

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
             "one rank is late, the others are together",
             "Niethammer 2016, section III.D",
             {{"rank", "0", "the late one", PartValues::whole(0, 1e9)}}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                const long rank = arguments.part.whole("rank");
                if (rank >= arguments.ranks) {
                    throw Error::usage(fmt::format("pattern cannot be '{}'; valid ranks are 0 to {}",
                                                   arguments.part.text(), arguments.ranks - 1));
                }
                return std::make_unique<OneLate>(static_cast<int>(rank));
            }};
}

} // namespace bench
