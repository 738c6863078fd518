#pragma once

#include "rules/metric.h"
#include "rules/statistics.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "simulated.h"
#include "text/words.h"

#include <functional>
#include <memory>

namespace bench {

/// Averages over many simulated cells.
struct Coverage {
    double median = 0.0;  // coverage of the 95 % interval of the median
    double mean = 0.0;    // of the mean
    double samples = 0.0; // per cell
    double found = 0.0;   // mean of the medians, 1 in truth
};

template <typename Rules> auto make_rule(const Rules &rules, const std::string &text) {
    const Component component = parse_component("rule", text, rules);
    return find_by_name(rules, component.name()).make(component);
}

/// Cells measured under a stopping rule, as long as the rule asks for blocks: what the intervals that are stored then
/// are worth. A sample takes a millisecond.
inline Coverage cover(const StoppingRule &rule, const SimulatedDeviations &deviations, int cells, std::uint64_t seed) {
    Coverage coverage;
    std::vector<std::vector<double>> metrics(all_metrics().size());
    const auto watched = static_cast<std::size_t>(&find_by_name(all_metrics(), "latency_avg") - all_metrics().data());
    std::vector<double> &samples = metrics[watched];
    const std::vector<double> steps(metrics.size(), deviations.step);
    for (int i = 0; i < cells; ++i) {
        SimulatedCell cell(deviations, seed + static_cast<std::uint64_t>(i));
        samples.clear();
        std::vector<long> blocks;
        CellProgress progress;
        while (const long wanted = rule.next_block(progress)) {
            cell.measure(wanted, samples);
            blocks.push_back(wanted);
            progress = {.blocks = static_cast<long>(blocks.size()),
                        .valid = static_cast<long>(samples.size()),
                        .seconds = 1e-3 * static_cast<double>(samples.size()),
                        .values = metrics,
                        .block_sizes = blocks,
                        .steps = steps};
        }
        const MedianInterval median = median_interval(samples, blocks, 0.95, deviations.step);
        const MeanInterval mean = mean_interval(samples, blocks, 0.95);
        coverage.median += median.low <= 1.0 && 1.0 <= median.high ? 1.0 : 0.0;
        coverage.mean += std::abs(mean.mean - cell.mean()) <= mean.half ? 1.0 : 0.0;
        coverage.samples += static_cast<double>(samples.size());
        coverage.found += median.median;
    }
    return {coverage.median / cells, coverage.mean / cells, coverage.samples / cells, coverage.found / cells};
}

/// Averages over many simulated warm-ups.
struct WarmupOutcome {
    double settled = 0.0; // share that ended before the maximum
    double calls = 0.0;   // discarded
    double excess = 0.0;  // of the next 100 calls over the end of the trend, share
};

/// Warm-ups in which call i takes `trend(i)` times what a cell without trend would.
inline WarmupOutcome warm_up(const WarmupRule &rule, const SimulatedDeviations &deviations,
                             const std::function<double(double)> &trend, int blocks, std::uint64_t seed) {
    constexpr int after = 100;
    WarmupOutcome outcome;
    for (int block = 0; block < blocks; ++block) {
        SimulatedCell cell(deviations, seed + static_cast<std::uint64_t>(block));
        std::vector<double> times;
        while (const long count = rule.next(times)) {
            for (long i = 0; i < count; ++i) {
                times.push_back(trend(static_cast<double>(times.size())) * cell.next());
            }
        }
        outcome.settled += rule.settled(times) ? 1.0 : 0.0;
        outcome.calls += static_cast<double>(times.size());
        for (int i = 0; i < after; ++i) {
            outcome.excess += (trend(static_cast<double>(times.size()) + i) - 1.0) / after;
        }
    }
    return {outcome.settled / blocks, outcome.calls / blocks, outcome.excess / blocks};
}

} // namespace bench
