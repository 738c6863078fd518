#pragma once

#include "rules/metric.h"
#include "rules/statistics.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "text/words.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace bench {

/// Causes of differences between samples of a simulated cell. Standard deviations of logarithms: 0.05 is 5 %.
struct SimulatedDeviations {
    std::string name;
    double autocorrelation = 0.0; // of samples that follow each other, at lag 1, without the outliers
    double outliers = 0.0;        // share of the samples, two to ten times as long
    double blocks = 0.0;          // from block to block
    double samples = 0.05;        // within a block
    double step = 0.0;            // of the clock that reads them: a share of the median
    double bursts = 0.0;          // share of the calls that take twice as long, some 50 in a row
};

/// Those that every interval and rule is tried with.
inline const std::vector<SimulatedDeviations> &simulated_deviations() {
    static const std::vector<SimulatedDeviations> all = {{"independent"},
                                                         {"2 % outliers", 0.0, 0.02},
                                                         {"AR(1) 0.6", 0.6},
                                                         {"AR(1) 0.6, 2 % outliers", 0.6, 0.02},
                                                         {"AR(1) 0.8, 2 % outliers", 0.8, 0.02},
                                                         {"blocks 1 %", 0.0, 0.0, 0.01},
                                                         {"blocks 2.5 %", 0.0, 0.0, 0.025},
                                                         {"blocks 5 %", 0.0, 0.0, 0.05},
                                                         {"AR(1) 0.6, 2 % outliers, blocks 2.5 %", 0.6, 0.02, 0.025}};
    return all;
}

/// One cell alone, whose blocks follow each other so closely that they resemble their neighbors.
inline const std::vector<SimulatedDeviations> &simulated_correlated() {
    static const std::vector<SimulatedDeviations> all = {
        {"AR(1) 0.9", 0.9}, {"AR(1) 0.95", 0.95}, {"AR(1) 0.98", 0.98}, {"AR(1) 0.99", 0.99}};
    return all;
}

/// 2 ns of noise under a clock that advances by 10 ns, where that hides the most and where it hides little.
inline const std::vector<SimulatedDeviations> &simulated_steps() {
    static const std::vector<SimulatedDeviations> all = {
        {"153 ns in steps of 10", 0.0, 0.0, 0.0, 2.0 / 153, 10.0 / 153},
        {"157 ns in steps of 10", 0.0, 0.0, 0.0, 2.0 / 157, 10.0 / 157},
        {"155 ns in steps of 10", 0.0, 0.0, 0.0, 2.0 / 155, 10.0 / 155},
        {"16 ns in steps of 10", 0.0, 0.0, 0.0, 2.0 / 16, 10.0 / 16},
        {"153 ns in steps of 10, blocks 1 %", 0.0, 0.0, 0.01, 2.0 / 153, 10.0 / 153}};
    return all;
}

/// Intervals of one launch do not cover bursts: a block is in a burst or not, and few blocks show few bursts.
inline const std::vector<SimulatedDeviations> &simulated_bursts() {
    static const std::vector<SimulatedDeviations> all = {
        {"bursts of 50 calls, 20 % of the time", 0.0, 0.0, 0.0, 0.05, 0.0, 0.2}};
    return all;
}

/// A cell whose median is 1, measured in blocks.
class SimulatedCell {
public:
    SimulatedCell(const SimulatedDeviations &deviations, std::uint64_t seed)
        : deviations_(deviations), spread_(std::hypot(deviations.samples, deviations.blocks)),
          // Outliers and bursts are above nearly all else, so the median of all is a little above that of the rest.
          shift_(spread_ * normal_quantile(0.5 / (1.0 - deviations.outliers) / (1.0 - deviations.bursts))),
          random_(seed), state_(normal()) {}

    /// The true mean: of a log-normal distribution, and of outliers, 6 times as long on average.
    double mean() const {
        return std::exp(spread_ * spread_ / 2.0 - shift_) * (1.0 + 5.0 * deviations_.outliers) *
               (1.0 + deviations_.bursts);
    }

    /// A block of so many samples, at the end of `values`; between blocks other cells are measured, or calls discarded.
    void measure(long count, std::vector<double> &values) {
        constexpr int between = 10;
        const double level = deviations_.blocks * normal() - shift_;
        for (int i = 0; i < between; ++i) {
            advance();
        }
        for (long i = 0; i < count; ++i) {
            values.push_back(read(std::exp(level) * next()));
        }
    }

    /// One sample of the cell, without the block's deviation.
    double next() {
        advance();
        const double outlier = uniform() < deviations_.outliers ? 2.0 + 8.0 * uniform() : 1.0;
        return std::exp(deviations_.samples * state_) * outlier * (in_burst_ ? 2.0 : 1.0);
    }

private:
    /// The difference of two stamps of a clock with a step; the first is anywhere within a step.
    double read(double time) {
        return deviations_.step > 0.0 ? std::floor(time / deviations_.step + 1.0 - uniform()) * deviations_.step : time;
    }
    // The standard library's distributions differ from one implementation to the next.
    double uniform() { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }
    double normal() { return std::sqrt(-2.0 * std::log(uniform())) * std::cos(2.0 * std::numbers::pi * uniform()); }
    void advance() {
        const double r = deviations_.autocorrelation;
        state_ = r * state_ + std::sqrt(1.0 - r * r) * normal();
        if (deviations_.bursts > 0.0) {
            constexpr double calls = 50.0; // in a burst, in the mean
            const double leave = 1.0 / calls;
            const double enter = leave * deviations_.bursts / (1.0 - deviations_.bursts);
            in_burst_ = uniform() < (in_burst_ ? 1.0 - leave : enter);
        }
    }

    SimulatedDeviations deviations_;
    double spread_;
    double shift_;
    std::mt19937_64 random_;
    double state_;
    bool in_burst_ = false;
};

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
