// Simulates what the intervals and rules of downbeat-bench are worth on cells whose truth is known: one JSON object per
// line, for tests/statistics.
#include "coverage.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>

namespace bench {
namespace {

void simulate_stopping(const std::string &rule, int cells) {
    const auto stopping = make_rule(all_stopping_rules(), rule);
    std::vector<SimulatedDeviations> of_all_kinds = simulated_deviations();
    for (const auto &more : {simulated_correlated(), simulated_steps(), simulated_bursts()}) {
        of_all_kinds.insert(of_all_kinds.end(), more.begin(), more.end());
    }
    for (const SimulatedDeviations &deviations : of_all_kinds) {
        const Coverage found = cover(*stopping, deviations, cells, 1);
        fmt::print(R"({{"kind": "stop", "rule": "{}", "deviations": "{}", "median": {}, "mean": {}, "samples": {}}})"
                   "\n",
                   rule, deviations.name, found.median, found.mean, found.samples);
    }
}

/// The time of call i, relative to that of the last calls.
struct Trend {
    const char *name;
    std::function<double(double)> factor;
};

void simulate_warmup(const std::string &rule, const Trend &trend, int blocks) {
    const auto warmup = make_rule(all_warmup_rules(), rule);
    for (const double noise : {0.01, 0.05}) {
        for (const double autocorrelation : {0.0, 0.6, 0.8}) {
            const SimulatedDeviations deviations{"", autocorrelation, 0.02, 0.0, noise};
            const WarmupOutcome found = warm_up(*warmup, deviations, trend.factor, blocks, 1);
            fmt::print(R"({{"kind": "warmup", "rule": "{}", "trend": "{}", "noise": {}, "autocorrelation": {}, )"
                       R"("settled": {}, "calls": {}, "excess": {}}})"
                       "\n",
                       rule, trend.name, noise, autocorrelation, found.settled, found.calls, found.excess);
        }
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    const int cells = argc == 2 ? std::atoi(argv[1]) : 0;
    if (cells < 1) {
        fmt::print(stderr, "usage: {} CELLS, of each kind: an integer from 1\n", argv[0]);
        return 2;
    }
    for (const char *rule : {"fixed(samples=10)", "fixed(samples=30)", "fixed(samples=40)", "fixed(samples=100)",
                             "fixed(samples=1000)", "budget(time=400ms)", "precision"}) {
        bench::simulate_stopping(rule, cells);
    }
    const bench::Trend trends[] = {
        {"none", [](double) { return 1.0; }},
        {"100 %, falling to 1/e in 10 calls", [](double i) { return 1.0 + std::exp(-i / 10); }},
        {"100 %, falling to 1/e in 30 calls", [](double i) { return 1.0 + std::exp(-i / 30); }},
        {"30 %, falling to 1/e in 50 calls", [](double i) { return 1.0 + 0.3 * std::exp(-i / 50); }},
        {"100 %, falling evenly over 500 calls", [](double i) { return std::max(1.0, 2.0 - i / 500); }},
        {"100 % for 30 calls", [](double i) { return i < 30 ? 2.0 : 1.0; }},
    };
    for (const char *rule : {"stationary", "stationary(window=50)"}) {
        for (const bench::Trend &trend : trends) {
            bench::simulate_warmup(rule, trend, cells);
        }
    }
    return 0;
}
