#include "metric.h"
#include "names.h"
#include "statistics.h"
#include "stopping_rule.h"

#include <algorithm>

namespace bench {
namespace {

class Precision : public StoppingRule {
public:
    explicit Precision(const Part &part)
        : width_(part.real("width")), confidence_(part.real("confidence")), least_(part.whole("min")),
          most_(std::max(part.whole("max"), part.whole("min"))), block_(part.whole("block")) {
        const auto &metrics = all_metrics();
        metric_ = static_cast<std::size_t>(&find_by_name(metrics, part.word("metric")) - metrics.data());
    }

    long next_block(const CellProgress &progress) const override {
        const bool over = progress.starved || progress.valid >= most_ || satisfied(progress);
        return over ? 0 : std::min(std::max(block_, least_ - progress.valid), most_ - progress.valid);
    }

    bool satisfied(const CellProgress &progress) const override {
        if (progress.valid < least_) {
            return false;
        }
        const std::vector<double> &values = progress.values[metric_];
        const MedianInterval interval = median_interval(values, confidence_);
        return interval.high - interval.low <= width_ * summarize(values).median;
    }

    long least() const override { return least_; }

private:
    double width_;
    double confidence_;
    long least_;
    long most_;
    long block_;
    std::size_t metric_;
};

} // namespace

StoppingRuleInfo stopping_rules::precision() {
    return {{"precision",
             "until the confidence interval of the median is narrow enough, autocorrelation taken into account",
             "",
             {{"width", "0.02", "of the interval, as share of the median", PartValues::real(1e-6, 1)},
              {"metric", "latency_avg", "whose median", PartValues::choice(names_of(all_metrics()))},
              {"confidence", "0.95", "of the interval", PartValues::real(0.5, 0.9999)},
              {"min", "50", "valid samples at least", PartValues::whole(5, 1e9)},
              {"max", "100000", "valid samples at most; a cell that is not precise by then is incomplete",
               PartValues::whole(5, 1e9)},
              {"block", "50", "valid samples between two looks", PartValues::whole(1, 1e6)}}},
            [](const Part &part) -> std::unique_ptr<StoppingRule> { return std::make_unique<Precision>(part); }};
}

} // namespace bench
