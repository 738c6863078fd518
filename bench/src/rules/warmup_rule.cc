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

// Two windows are cut into this many batches. Their medians are much less correlated than consecutive calls, and hide
// outliers.
constexpr std::size_t batches = 8;

// Kendall's S of 8 values in random order is as far from 0, of 28 at most, in 18 % of all cases. A false alarm costs a
// window, and there are several checks until `max`; a trend that is missed is in the samples.
constexpr int much = 12;

// A window's median that lies off the one before by less than this many typical distances of a batch from its window's
// median does so by chance.
constexpr double by_chance = 2.0;

double median(std::span<const double> times) {
    std::vector<double> sorted(times.begin(), times.end());
    std::ranges::sort(sorted);
    return quantile_of_sorted(sorted, 0.5);
}

/// Pairs that rise less pairs that fall (Mann 1945, Kendall 1948).
int kendall(std::span<const double> values) {
    int s = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = i + 1; j < values.size(); ++j) {
            s += (values[j] > values[i] ? 1 : 0) - (values[j] < values[i] ? 1 : 0);
        }
    }
    return s;
}

/// Discards at least `min`, then until the medians of the last two windows agree and no trend is left in them.
class Stationary : public WarmupRule {
public:
    explicit Stationary(const Component &component)
        : least_(component.whole("min")), window_(component.whole("window")), change_(component.real("change")),
          most_(component.whole("max")) {
        if (most_ < least_) {
            throw Error::usage(fmt::format("warm-up rule cannot be '{}': max is less than min", component.text()));
        }
    }

    long next(std::span<const double> times) const override {
        const auto done = static_cast<long>(times.size());
        if (done >= most_) {
            return 0;
        }
        if (done < least_ + 2 * window_) {
            return std::min(least_ + 2 * window_, most_) - done;
        }
        return settled(times) ? 0 : std::min(window_, most_ - done);
    }

    bool settled(std::span<const double> times) const override {
        const auto needed = static_cast<std::size_t>(2 * window_);
        return times.size() >= needed && is_stationary(times.last(needed));
    }

private:
    bool is_stationary(std::span<const double> times) const {
        const double before = median(times.first(times.size() / 2));
        const double after = median(times.last(times.size() / 2));
        std::array<double, batches> medians{};
        std::array<double, batches> distances{}; // from the window's
        for (std::size_t i = 0; i < batches; ++i) {
            const std::size_t begin = times.size() * i / batches;
            medians[i] = median(times.subspan(begin, times.size() * (i + 1) / batches - begin));
            distances[i] = std::abs(medians[i] - (i < batches / 2 ? before : after));
        }
        const double allowed = std::max(change_ * before, by_chance * median(distances));
        return std::abs(after - before) <= allowed && std::abs(kendall(medians)) < much;
    }

    long least_;
    long window_;
    double change_;
    long most_;
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

class Fixed : public WarmupRule {
public:
    explicit Fixed(long calls) : calls_(calls) {}
    std::optional<long> number() const override { return calls_; }

private:
    long calls_;
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
