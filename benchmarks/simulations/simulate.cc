// Simulates what the intervals and rules of downbeat-bench are worth on cells whose truth is known: one JSON object per
// line, for benchmarks/statistics.py.
#include "coverage.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

void simulate_stopping(const std::string &rule, int cells) {
    const auto stopping = make_rule(all_stopping_rules(), rule);
    std::vector<SimulatedDeviations> of_all_kinds = simulated_deviations();
    of_all_kinds.insert(of_all_kinds.end(), simulated_steps().begin(), simulated_steps().end());
    of_all_kinds.insert(of_all_kinds.end(), simulated_bursts().begin(), simulated_bursts().end());
    for (const SimulatedDeviations &deviations : of_all_kinds) {
        const Coverage found = cover(*stopping, deviations, cells, 1);
        fmt::print(R"({{"kind": "stop", "rule": "{}", "deviations": "{}", "median": {}, "mean": {}, "samples": {}}})"
                   "\n",
                   rule, deviations.name, found.median, found.mean, found.samples);
    }
}

void simulate_warmup(const std::string &trend, const std::function<double(double)> &factor, int blocks) {
    const auto stationary = make_rule(all_warmup_rules(), "stationary");
    for (const double noise : {0.01, 0.05}) {
        for (const double autocorrelation : {0.0, 0.6, 0.8}) {
            const SimulatedDeviations deviations{"", autocorrelation, 0.02, 0.0, noise};
            const WarmupOutcome found = warm_up(*stationary, deviations, factor, blocks, 1);
            fmt::print(R"({{"kind": "warmup", "trend": "{}", "noise": {}, "autocorrelation": {}, "settled": {}, )"
                       R"("calls": {}, "excess": {}}})"
                       "\n",
                       trend, noise, autocorrelation, found.settled, found.calls, found.excess);
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
    bench::simulate_warmup(
        "none", [](double) { return 1.0; }, cells);
    bench::simulate_warmup(
        "100 %, falling to 1/e in 10 calls", [](double i) { return 1.0 + std::exp(-i / 10); }, cells);
    bench::simulate_warmup(
        "100 %, falling to 1/e in 30 calls", [](double i) { return 1.0 + std::exp(-i / 30); }, cells);
    bench::simulate_warmup(
        "30 %, falling to 1/e in 50 calls", [](double i) { return 1.0 + 0.3 * std::exp(-i / 50); }, cells);
    bench::simulate_warmup(
        "100 %, falling evenly over 500 calls", [](double i) { return std::max(1.0, 2.0 - i / 500); }, cells);
    bench::simulate_warmup(
        "100 % for 30 calls", [](double i) { return i < 30 ? 2.0 : 1.0; }, cells);
    return 0;
}
