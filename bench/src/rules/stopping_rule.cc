// The stopping rules precision, budget and fixed (stopping_rule.h).
#include "rules/stopping_rule.h"

#include "rules/metric.h"
#include "rules/statistics.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

// The rule checks the interval after 10 blocks, and then whenever the number of blocks has grown by half. Each check is
// a chance to stop at an interval that is too narrow by chance, so frequent checks reduce the coverage. Coverage of 95
// % intervals (make bench-statistics): 93 to 97 % with these checks, 91 % with a check after every block, 20 % with a
// check after the first block if blocks deviate by 5 %. During bursts of disturbances it is 57 %; batch means of merged
// blocks, or the autocorrelation of blocks, would raise that to 67 %, with more than twice the samples.
constexpr long first_check = 10; // blocks

/// The number of blocks at the next check, at least `blocks`.
long check_from(long blocks) {
    long checked = first_check;
    while (checked < blocks) {
        checked += (checked + 1) / 2;
    }
    return checked;
}

/// Stops when the confidence interval of a metric's median is narrow enough, or at a maximum number of samples.
class Precision : public StoppingRule {
public:
    explicit Precision(const Component &component)
        : width_(component.real("width")), confidence_(component.real("confidence")), min_(component.whole("min")),
          max_(component.whole("max")), block_(component.whole("block")) {
        if (max_ < min_) {
            throw Error::usage(fmt::format("stopping rule cannot be '{}': max is less than min", component.text()));
        }
        const auto &metrics = all_metrics();
        metric_ = static_cast<std::size_t>(&find_by_name(metrics, component.word("metric")) - metrics.data());
    }

    long next_block(const CellProgress &progress) const override {
        const bool over = progress.starved || progress.valid >= max_ ||
                          (check_from(progress.blocks) == progress.blocks && satisfied(progress));
        return over ? 0 : std::min(samples_per_block(), max_ - progress.valid);
    }

    long blocks_left(const CellProgress &progress) const override {
        const long until_max = (max_ - progress.valid + samples_per_block() - 1) / samples_per_block();
        return std::min(check_from(progress.blocks + 1) - progress.blocks, until_max);
    }

    bool satisfied(const CellProgress &progress) const override {
        if (progress.valid < min_ || progress.blocks < first_check) {
            return false;
        }
        const std::vector<double> &values = progress.values[metric_];
        const double step = progress.steps.empty() ? 0.0 : progress.steps[metric_];
        const MedianInterval interval = median_interval(values, progress.block_sizes, confidence_, step);
        // More samples would not reduce step_error, so it does not count.
        return interval.high - interval.low - 2.0 * interval.step_error <= width_ * interval.median;
    }

    bool open_ended() const override { return true; }
    long min_samples() const override { return min_; }

private:
    /// The valid samples of a block: the first check comes after enough blocks for the minimum.
    long samples_per_block() const { return std::max(block_, (min_ + first_check - 1) / first_check); }

    double width_;       // of the interval, relative to the median
    double confidence_;  // of the interval
    long min_;           // valid samples
    long max_;           // valid samples
    long block_;         // smallest number of valid samples per block
    std::size_t metric_; // index in all_metrics()
};

} // namespace

// The default width is the margin within which `downbeat compare` calls a ratio equivalent: a wider interval could hide
// such a difference. The default block of 20 samples is the smallest in which most of the time goes into samples, as 10
// calls are discarded before a block; 10 blocks of 20 give the default minimum of 200.
StoppingRuleInfo stopping_rules::precision() {
    return {{"precision",
             "until the confidence interval of the median is narrow enough, after at least 10 blocks",
             "",
             {{"width", "0.02", "width of the interval, relative to the median", ComponentValues::real(1e-6, 1)},
              {"metric", "latency_avg", "metric whose median counts", ComponentValues::choice(names_of(all_metrics()))},
              {"confidence", "0.95", "confidence level of the interval", ComponentValues::real(0.5, 0.9999)},
              {"min", "200", "smallest number of valid samples", ComponentValues::whole(5, 1e9)},
              {"max", "100000", "largest number of valid samples; a cell less precise by then is incomplete",
               ComponentValues::whole(5, 1e9)},
              {"block", "20", "smallest number of valid samples per block", ComponentValues::whole(1, 1e6)}}},
            Make<Precision>{}};
}

namespace {

// Samples of the first block, from which the rule learns the time of a sample. Few, because a sample may take a large
// share of the budget, but enough that a single slow sample has little effect.
constexpr long samples_of_first_block = 10;

/// Stops when a time has passed, or at a maximum number of samples.
class Budget : public StoppingRule {
public:
    Budget(double seconds, long max) : seconds_(seconds), max_(max) {}

    long next_block(const CellProgress &progress) const override {
        const double seconds_left = seconds_ - progress.seconds;
        const long missing = max_ - progress.valid;
        if (progress.blocks == 0) {
            return std::min(samples_of_first_block, missing);
        }
        if (seconds_left <= 0.0 || missing <= 0) {
            return 0;
        }
        if (progress.valid == 0) { // the time per valid sample is not known yet
            return samples_of_first_block;
        }
        const double per_sample = progress.seconds / static_cast<double>(progress.valid);
        const double block = std::min(seconds_left, seconds_ / static_cast<double>(blocks_per_cell)); // s
        // Not more than 10^9, the maximum of `most`, so that the conversion cannot overflow.
        return std::clamp(static_cast<long>(std::min(block / per_sample, 1e9)), 1L, missing);
    }
    bool satisfied(const CellProgress &progress) const override { return progress.valid >= min_samples(); }

private:
    double seconds_; // time per cell
    long max_;       // valid samples
};

} // namespace

StoppingRuleInfo stopping_rules::budget() {
    return {{"budget",
             "as many samples as fit into a time, including rejected ones and warm-up",
             "Hunold 2018 (Round-Time)",
             {{"time", "1s", "time per cell", ComponentValues::duration(1e-6, 1e6)},
              {"most", "1000000", "largest number of valid samples per cell", ComponentValues::whole(1, 1e9)}}},
            [](const Component &component) -> std::unique_ptr<StoppingRule> {
                return std::make_unique<Budget>(component.seconds("time"), component.whole("most"));
            }};
}

namespace {

/// Measures a fixed number of valid samples.
class Fixed : public StoppingRule {
public:
    explicit Fixed(long samples) : samples_(samples), blocks_(std::min(blocks_per_cell, samples)) {}

    long next_block(const CellProgress &progress) const override {
        // At most as many further blocks, for the samples that earlier blocks could not get. None if no sample was
        // valid: then further blocks would hardly have one.
        if (progress.blocks >= blocks_) {
            return progress.valid > 0 && progress.blocks < 2 * blocks_ ? samples_ - progress.valid : 0;
        }
        return samples_ / blocks_ + (progress.blocks < samples_ % blocks_ ? 1 : 0);
    }
    long blocks_left(const CellProgress &progress) const override { return std::max(blocks_ - progress.blocks, 1L); }
    bool satisfied(const CellProgress &progress) const override { return progress.valid >= samples_; }
    long min_samples() const override { return samples_; }

private:
    long samples_; // valid samples of the cell
    long blocks_;  // blocks over which they are spread
};

} // namespace

const std::vector<StoppingRuleInfo> &all_stopping_rules() {
    static const std::vector<StoppingRuleInfo> all = {
        {{"fixed",
          "a fixed number of valid samples",
          "",
          {{"samples", "1000", "valid samples per cell", ComponentValues::whole(1, 1e9)}}},
         [](const Component &component) -> std::unique_ptr<StoppingRule> {
             return std::make_unique<Fixed>(component.whole("samples"));
         }},
        stopping_rules::budget(),
        stopping_rules::precision()};
    return all;
}

} // namespace bench
