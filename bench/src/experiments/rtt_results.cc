#include "experiments/rtt_results.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t bins = 200; // Hoefler 2008, figure 4
constexpr double drawn_quantile = 0.99;
constexpr double least_bin = 1e-9; // seconds; timestamps are nanoseconds

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
    const double smallest = *std::ranges::min_element(rtts);
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

RttPair study_rtts(const Pair &pair, RoundTrips trips, long resamples, std::uint64_t seed) {
    std::vector<double> sorted = trips.rtt;
    std::ranges::sort(sorted);
    const Summary summary = summarize(trips.rtt, equal_parts(trips.rtt.size()));
    const double p999 = quantile_of_sorted(sorted, 0.999);
    const Histogram histogram = make_histogram(sorted, bins, drawn_quantile, least_bin);
    std::vector<StopRule> stop_rule = study_stop_rule(trips.rtt, stop_rule_ns(), resamples, seed);
    return {pair, std::move(trips), summary, p999, histogram, std::move(stop_rule)};
}

} // namespace bench
