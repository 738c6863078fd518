#include "statistics.h"
#include "warmup_rule.h"

#include <algorithm>
#include <cmath>

namespace bench {
namespace {

// Below this |z| the number of runs does not speak against independence at the 5 % level.
constexpr double most_deviation = 1.96;

/// Discards at least `min`, then until the medians of the last two windows agree and no trend is left in them.
class Stationary : public WarmupRule {
public:
    explicit Stationary(const Part &part)
        : least_(part.whole("min")), window_(part.whole("window")), change_(part.real("change")),
          most_(part.whole("max")) {}

    long next(std::span<const double> times) const override {
        const auto done = static_cast<long>(times.size());
        if (done >= most_) {
            return 0;
        }
        if (done < least_ + 2 * window_) {
            return std::min(least_ + 2 * window_, most_) - done;
        }
        return is_stationary(times.last(static_cast<std::size_t>(2 * window_))) ? 0 : std::min(window_, most_ - done);
    }

private:
    bool is_stationary(std::span<const double> times) const {
        const double before = median(times.first(times.size() / 2));
        const double after = median(times.last(times.size() / 2));
        return std::abs(after - before) <= change_ * before && std::abs(runs_deviation(times)) <= most_deviation;
    }

    static double median(std::span<const double> times) { return summarize({times.begin(), times.end()}).median; }

    long least_;
    long window_;
    double change_;
    long most_;
};

} // namespace

WarmupRuleInfo warmup_rules::stationary() {
    return {{"stationary",
             "until the medians of two windows in a row agree and the sign-run test sees no trend",
             "sign-run test: Wald and Wolfowitz 1940",
             {{"min", "5", "calls discarded at least", PartValues::whole(0, 1e6)},
              {"window", "20", "calls", PartValues::whole(4, 1e5)},
              {"change", "0.02", "of the median from window to window at most", PartValues::real(1e-6, 1)},
              {"max", "200", "calls discarded at most, stationary or not", PartValues::whole(1, 1e6)}}},
            [](const Part &part) -> std::unique_ptr<WarmupRule> { return std::make_unique<Stationary>(part); }};
}

} // namespace bench
