// The warm-up rules stationary and fixed (warmup_rule.h).
#include "rules/warmup_rule.h"

#include "rules/statistics.h"
#include "text/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

namespace bench {
namespace {

// Two windows are cut into this many batches. Medians of batches are less correlated than consecutive calls, and free
// of outliers.
constexpr std::size_t batches = 8;

// Kendall's S from which the medians of the batches have a trend. Its maximum for 8 values is 28; values in random
// order reach 12 in 18 % of all cases. Such a false alarm costs a window of calls; a missed trend would be in the
// samples.
constexpr int trend_limit = 12;

// The medians of two windows differ by chance if their difference is below this multiple of the typical distance of a
// batch's median from its window's median.
constexpr double chance_factor = 2.0;

double median(std::span<const double> times) {
    std::vector<double> sorted(times.begin(), times.end());
    std::ranges::sort(sorted);
    return quantile_of_sorted(sorted, 0.5);
}

/// Kendall's S: the number of pairs of values that rise minus the number of pairs that fall (Mann 1945, Kendall 1948).
int kendall(std::span<const double> values) {
    int s = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = i + 1; j < values.size(); ++j) {
            s += (values[j] > values[i] ? 1 : 0) - (values[j] < values[i] ? 1 : 0);
        }
    }
    return s;
}

/// Discards at least `min` calls, then windows of calls until the medians of the last two windows agree and have no
/// trend.
class Stationary : public WarmupRule {
public:
    explicit Stationary(const Component &component)
        : min_(component.whole("min")), window_(component.whole("window")), change_(component.real("change")),
          max_(component.whole("max")) {
        if (max_ < min_) {
            throw Error::usage(fmt::format("warm-up rule cannot be '{}': max is less than min", component.text()));
        }
    }

    long next(std::span<const double> times) const override {
        const auto done = static_cast<long>(times.size()); // calls
        if (done >= max_) {
            return 0;
        }
        if (done < min_ + 2 * window_) { // too few calls for two windows
            return std::min(min_ + 2 * window_, max_) - done;
        }
        return settled(times) ? 0 : std::min(window_, max_ - done);
    }

    bool settled(std::span<const double> times) const override {
        const auto needed = static_cast<std::size_t>(2 * window_);
        return times.size() >= needed && is_stationary(times.last(needed)); // false if `max` is too small for windows
    }

private:
    /// True if the two halves of the times have similar medians, and the medians of batches have no trend.
    bool is_stationary(std::span<const double> times) const {
        const double before = median(times.first(times.size() / 2));
        const double after = median(times.last(times.size() / 2));
        std::array<double, batches> medians{};
        std::array<double, batches> distances{}; // of a batch's median from its window's median
        for (std::size_t i = 0; i < batches; ++i) {
            const std::size_t begin = times.size() * i / batches;
            medians[i] = median(times.subspan(begin, times.size() * (i + 1) / batches - begin));
            distances[i] = std::abs(medians[i] - (i < batches / 2 ? before : after));
        }
        const double allowed = std::max(change_ * before, chance_factor * median(distances));
        return std::abs(after - before) <= allowed && std::abs(kendall(medians)) < trend_limit;
    }

    long min_;      // smallest number of calls to discard before the windows
    long window_;   // calls per window
    double change_; // change of the median between windows that does not matter, relative to the median
    long max_;      // largest number of calls to discard
};

} // namespace

WarmupRuleInfo warmup_rules::stationary() {
    return {{"stationary",
             "until the medians of two consecutive windows agree within noise and show no trend",
             "Mann 1945, of medians of batches",
             {{"min", "5", "smallest number of calls to discard", ComponentValues::whole(0, 1e6)},
              {"window", "20", "calls per window", ComponentValues::whole(4, 1e5)},
              {"change", "0.02", "relative change of the median between windows that does not matter",
               ComponentValues::real(1e-6, 1)},
              {"max", "200", "largest number of calls to discard, settled or not", ComponentValues::whole(1, 1e6)}}},
            Make<Stationary>{}};
}

namespace {

/// Discards a fixed number of calls.
class Fixed : public WarmupRule {
public:
    explicit Fixed(long calls) : calls_(calls) {}
    std::optional<long> number() const override { return calls_; }

private:
    long calls_; // to discard before each block
};

} // namespace

const std::vector<WarmupRuleInfo> &all_warmup_rules() {
    static const std::vector<WarmupRuleInfo> all = {
        {{"fixed",
          "a fixed number of calls",
          "",
          {{"calls", "10", "calls before every block", ComponentValues::whole(0, 1e6)}}},
         [](const Component &component) -> std::unique_ptr<WarmupRule> {
             return std::make_unique<Fixed>(component.whole("calls"));
         }},
        warmup_rules::stationary()};
    return all;
}

} // namespace bench
