#include "arrival_pattern.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bench {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the `index`-th number of a stream, from the seed and the index alone, so that
/// each rank draws for itself what all of them agree on.
std::uint64_t draw_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// Between 0 and 1, both excluded.
double draw(std::uint64_t seed, std::uint64_t index) {
    return (static_cast<double>(draw_bits(seed, index) >> 11) + 0.5) * 0x1p-53;
}

/// Turns two independent uniform numbers into a share.
using Distribution = double (*)(const Part &part, double u, double v);

class Random : public ArrivalPattern {
public:
    Random(const PatternArguments &arguments, Distribution distribution)
        : part_(arguments.part), calls_(arguments.part.whole("calls")), seed_(arguments.seed),
          ranks_(static_cast<std::uint64_t>(arguments.ranks)), distribution_(distribution) {}

    double share(int place, long call) const override {
        const auto round = static_cast<std::uint64_t>(calls_ == 0 ? 0 : call / calls_);
        const std::uint64_t index = 2 * (round * ranks_ + static_cast<std::uint64_t>(place));
        return distribution_(part_, draw(seed_, index), draw(seed_, index + 1));
    }

private:
    Part part_;
    long calls_;
    std::uint64_t seed_;
    std::uint64_t ranks_;
    Distribution distribution_;
};

PartParameter calls_until_redrawn() {
    return {"calls", "1", "until delays are drawn anew; 0: drawn once", PartValues::whole(0, 1e9)};
}

} // namespace

PatternInfo patterns::uniform() {
    return {{"uniform", "delays drawn evenly from 0 to the largest", "", {calls_until_redrawn()}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<Random>(arguments, [](const Part &, double u, double) { return u; });
            }};
}

PatternInfo patterns::normal() {
    return {{"normal",
             "delays drawn from a normal distribution around half the largest, cut to 0 and the largest",
             "",
             {{"deviation", "0.15", "standard deviation, as share of the largest delay", PartValues::real(1e-6, 1)},
              calls_until_redrawn()}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<Random>(arguments, [](const Part &part, double u, double v) {
                    // Box and Muller 1958
                    const double z = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
                    return std::clamp(0.5 + part.real("deviation") * z, 0.0, 1.0);
                });
            }};
}

PatternInfo patterns::exponential() {
    return {{"exponential",
             "delays drawn from an exponential distribution that ends at the largest",
             "",
             {{"mean", "0.2", "before the cut, as share of the largest delay", PartValues::real(1e-3, 10)},
              calls_until_redrawn()}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                return std::make_unique<Random>(arguments, [](const Part &part, double u, double) {
                    const double mean = part.real("mean");
                    return -mean * std::log1p(u * std::expm1(-1.0 / mean));
                });
            }};
}

} // namespace bench
