#include "rules/arrival_pattern.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bench {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the `index`-th number of a stream, from the seed and the index alone, so that
/// each rank computes the same numbers by itself.
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
using Distribution = double (*)(const Component &component, double u, double v);

class Random : public ArrivalPattern {
public:
    Random(const PatternArguments &arguments, Distribution distribution)
        : component_(arguments.component), calls_(arguments.component.whole("calls")), seed_(arguments.seed),
          ranks_(static_cast<std::uint64_t>(arguments.ranks)), distribution_(distribution) {}

    double share(int place, long call) const override {
        const auto round = static_cast<std::uint64_t>(calls_ == 0 ? 0 : call / calls_);
        const std::uint64_t index = 2 * (round * ranks_ + static_cast<std::uint64_t>(place));
        return distribution_(component_, draw(seed_, index), draw(seed_, index + 1));
    }

private:
    Component component_;
    long calls_;
    std::uint64_t seed_;
    std::uint64_t ranks_;
    Distribution distribution_;
};

ComponentParameter calls_until_redrawn() {
    return {"calls", "1", "calls until new delays are drawn; 0: draw once", ComponentValues::whole(0, 1e9)};
}

} // namespace

std::vector<PatternInfo> patterns::random() {
    return {
        {{"uniform", "delays drawn uniformly from 0 to the largest", "", {calls_until_redrawn()}},
         [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
             return std::make_unique<Random>(arguments, [](const Component &, double u, double) { return u; });
         }},
        {{"normal",
          "delays drawn from a normal distribution around half the largest, cut to 0 and the largest",
          "",
          {{"deviation", "0.15", "standard deviation, relative to the largest delay", ComponentValues::real(1e-6, 1)},
           calls_until_redrawn()}},
         [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
             return std::make_unique<Random>(arguments, [](const Component &component, double u, double v) {
                 // Box and Muller 1958
                 const double z = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
                 return std::clamp(0.5 + component.real("deviation") * z, 0.0, 1.0);
             });
         }},
        {{"exponential",
          "delays drawn from an exponential distribution, cut off at the largest",
          "",
          {{"mean", "0.2", "mean before the cut, relative to the largest delay", ComponentValues::real(1e-3, 10)},
           calls_until_redrawn()}},
         [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
             return std::make_unique<Random>(arguments, [](const Component &component, double u, double) {
                 const double mean = component.real("mean");
                 return -mean * std::log1p(u * std::expm1(-1.0 / mean));
             });
         }},
    };
}

} // namespace bench
