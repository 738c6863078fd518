#include "findings/rtt/stop_rule.h"

#include <algorithm>
#include <array>
#include <random>

namespace bench {
namespace {

struct Run {
    double minimum;
    long draws;
};

Run draw_until_stop(std::span<const double> rtts, long n, std::mt19937_64 &random) {
    const auto draw = [&] { return rtts[random() % rtts.size()]; };
    Run run{draw(), 1};
    for (long without = 0; without < n;) {
        const double rtt = draw();
        ++run.draws;
        without = rtt < run.minimum ? 0 : without + 1;
        run.minimum = std::min(run.minimum, rtt);
    }
    return run;
}

} // namespace

std::span<const long> stop_rule_ns() {
    static constexpr std::array<long, 10> ns = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    return ns;
}

std::vector<StopRule> study_stop_rule(std::span<const double> rtts, std::span<const long> ns, long resamples,
                                      std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const double smallest = *std::min_element(rtts.begin(), rtts.end());
    const auto runs = static_cast<double>(resamples);
    std::vector<StopRule> study;
    for (const long n : ns) {
        double excess = 0.0;
        long draws = 0;
        for (long i = 0; i < resamples; ++i) {
            const Run run = draw_until_stop(rtts, n, random);
            excess += (run.minimum - smallest) / smallest;
            draws += run.draws;
        }
        study.push_back({n, excess / runs, static_cast<double>(draws) / runs});
    }
    return study;
}

} // namespace bench
