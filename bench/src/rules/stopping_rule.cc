#include "rules/stopping_rule.h"

#include "rules/metric.h"
#include "rules/statistics.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

// A rule that checks often stops where the interval happens to be too narrow. With checks at 10 blocks, and whenever
// there are half as many again, 95 % intervals hold the median in 93 to 97 % (make bench-statistics); with one after
// every block in 91 %; with one after the first block in 20 % where blocks deviate by 5 %. Under bursts they hold it in
// 57 %; batch means of merged blocks, or the autocorrelation of blocks, make that 67 % for more than twice the samples.
// 20 samples are the smallest block in which most of the time goes into samples, as 10 are discarded before it.
constexpr long first_check = 10; // blocks

/// The first check at this many blocks or more.
long check_from(long blocks) {
    long checked = first_check;
    while (checked < blocks) {
        checked += (checked + 1) / 2;
    }
    return checked;
}

class Precision : public StoppingRule {
public:
    explicit Precision(const Component &component)
        : width_(component.real("width")), confidence_(component.real("confidence")), least_(component.whole("min")),
          most_(component.whole("max")), block_(component.whole("block")) {
        if (most_ < least_) {
            throw Error::usage(fmt::format("stopping rule cannot be '{}': max is less than min", component.text()));
        }
        const auto &metrics = all_metrics();
        metric_ = static_cast<std::size_t>(&find_by_name(metrics, component.word("metric")) - metrics.data());
    }

    long next_block(const CellProgress &progress) const override {
        const bool over = progress.starved || progress.valid >= most_ ||
                          (check_from(progress.blocks) == progress.blocks && satisfied(progress));
        return over ? 0 : std::min(samples_per_block(), most_ - progress.valid);
    }

    long blocks_left(const CellProgress &progress) const override {
        const long all = (most_ - progress.valid + samples_per_block() - 1) / samples_per_block();
        return std::min(check_from(progress.blocks + 1) - progress.blocks, all);
    }

    bool satisfied(const CellProgress &progress) const override {
        if (progress.valid < least_ || progress.blocks < first_check) {
            return false;
        }
        const std::vector<double> &values = progress.values[metric_];
        const double step = progress.steps.empty() ? 0.0 : progress.steps[metric_];
        const MedianInterval interval = median_interval(values, progress.block_sizes, confidence_, step);
        return interval.high - interval.low - 2.0 * interval.hidden <= width_ * interval.median;
    }

    bool open_ended() const override { return true; }
    long least() const override { return least_; }

private:
    long samples_per_block() const { return std::max(block_, (least_ + first_check - 1) / first_check); }

    double width_;
    double confidence_;
    long least_;
    long most_;
    long block_;
    std::size_t metric_;
};

} // namespace

// The default width is the margin within which `downbeat compare` calls a ratio equivalent: with a median that is known
// less precisely, noise within a launch could hide such a difference. 200 samples are the first check of blocks of 20.
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

// The first block sets the pace of the others: few samples, because one may take a large part of the budget, but enough
// that a single slow one does not count much.
constexpr long first_block = 10; // samples

class Budget : public StoppingRule {
public:
    Budget(double seconds, long most) : seconds_(seconds), most_(most) {}

    long next_block(const CellProgress &progress) const override {
        const double left = seconds_ - progress.seconds;
        const long missing = most_ - progress.valid;
        if (progress.blocks == 0) {
            return std::min(first_block, missing);
        }
        if (left <= 0.0 || missing <= 0) {
            return 0;
        }
        if (progress.valid == 0) {
            return first_block;
        }
        const double pace = progress.seconds / static_cast<double>(progress.valid);
        const double share = std::min(left, seconds_ / static_cast<double>(blocks_per_cell));
        return std::clamp(static_cast<long>(std::min(share / pace, 1e9)), 1L, missing);
    }
    bool satisfied(const CellProgress &progress) const override { return progress.valid >= least(); }

private:
    double seconds_;
    long most_;
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

class Fixed : public StoppingRule {
public:
    explicit Fixed(long samples) : samples_(samples), blocks_(std::min(blocks_per_cell, samples)) {}

    long next_block(const CellProgress &progress) const override {
        if (progress.blocks >= blocks_) { // makes up for blocks that gave up, later, when the machine may be calmer
            return progress.valid > 0 && progress.blocks < 2 * blocks_ ? samples_ - progress.valid : 0;
        }
        return samples_ / blocks_ + (progress.blocks < samples_ % blocks_ ? 1 : 0);
    }
    long blocks_left(const CellProgress &progress) const override { return std::max(blocks_ - progress.blocks, 1L); }
    bool satisfied(const CellProgress &progress) const override { return progress.valid >= samples_; }
    long least() const override { return samples_; }

private:
    long samples_;
    long blocks_;
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
