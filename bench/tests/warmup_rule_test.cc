#include "rules/warmup_rule.h"

#include "coverage.h"

#include <array>
#include <gtest/gtest.h>
#include <random>

namespace bench {
namespace {

std::unique_ptr<WarmupRule> rule(const std::string &text) { return make_rule(all_warmup_rules(), text); }

/// How many calls a rule discards where call i takes value(i).
template <typename Value> std::size_t discarded(const WarmupRule &warmup, Value value) {
    std::vector<double> times;
    while (const long count = warmup.next(times)) {
        for (long i = 0; i < count; ++i) {
            times.push_back(value(times.size()));
        }
    }
    return times.size();
}

/// Whether `stationary` has settled after eight batches of five equal calls each.
bool settled_batches(const std::vector<double> &levels) {
    std::vector<double> times;
    for (const double level : levels) {
        times.insert(times.end(), 5, level);
    }
    return rule("stationary")->settled(times);
}

double noise(std::mt19937_64 &random) { return 0.01 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5); }

TEST(WarmupRule, FixedRunsSoMany) {
    EXPECT_EQ(rule("fixed(calls=7)")->number(), 7);
    EXPECT_EQ(rule("fixed(calls=0)")->number(), 0);
    EXPECT_EQ(rule("stationary")->number(), std::nullopt);
}

TEST(WarmupRule, StationaryIsContentWithSteadyTimes) {
    std::mt19937_64 random(1);
    EXPECT_EQ(discarded(*rule("stationary"), [&](std::size_t) { return 1.0 + noise(random); }), 45U);
    EXPECT_EQ(discarded(*rule("stationary"), [](std::size_t) { return 1.0; }), 45U);
}

TEST(WarmupRule, StationaryWaitsForTheEndOfAStep) {
    std::mt19937_64 random(1);
    const auto step = [&](std::size_t i) { return (i < 30 ? 2.0 : 1.0) + noise(random); };
    const std::size_t count = discarded(*rule("stationary"), step);
    EXPECT_GE(count, 65U); // two windows of 20 after the step, except for what medians ignore
    EXPECT_LE(count, 105U);
}

TEST(WarmupRule, StationarySeesATrendThatMediansDoNot) {
    // 1.5 % within two windows.
    const auto trend = [](std::size_t i) { return 1.0 - 0.000375 * static_cast<double>(i); };
    EXPECT_EQ(discarded(*rule("stationary"), trend), 200U);
}

TEST(WarmupRule, StationaryJudgesByMedians) {
    // A quarter of the second window is quicker, which no median of five calls sees.
    const auto some_quick = [](std::size_t i) { return i >= 25 && i % 4 == 0 ? 0.5 : 1.0; };
    EXPECT_EQ(discarded(*rule("stationary"), some_quick), 45U);
    // Batches of five calls without a trend, although what lies before them has one.
    const auto batches = [](std::size_t i) {
        constexpr std::array levels = {1.0, 1.4, 1.3, 1.0, 1.1, 1.2, 1.1, 1.0};
        return levels[(i + 40 - 5) / 5 % levels.size()];
    };
    EXPECT_EQ(discarded(*rule("stationary"), batches), 45U);
}

TEST(WarmupRule, StationaryTakesAKendallOf12ForATrend) {
    EXPECT_TRUE(settled_batches({1.2, 1.0, 1.4, 1.6, 1.1, 1.5, 1.7, 1.3}));  // 10
    EXPECT_FALSE(settled_batches({1.1, 1.0, 1.6, 1.4, 1.2, 1.3, 1.7, 1.5})); // 12
}

TEST(WarmupRule, StationaryTakesNoiseForTheDistancesOfBatchesFromTheirOwnWindow) {
    // The medians of the windows are 1.0 and 1.3. Four batches equal them, so a typical distance is (0 + 0.2) / 2, and
    // 0.3 is more than twice that. If any of those four were compared with the other window, 0.3 would be less.
    EXPECT_FALSE(settled_batches({1.2, 1.0, 1.0, 0.8, 1.3, 2.3, 1.3, 0.3}));
    EXPECT_TRUE(settled_batches({1.2, 1.0, 1.25, 0.8, 1.3, 2.3, 1.3, 0.3})); // 1.1 and 1.3, typically 0.125
}

TEST(WarmupRule, StationaryTakesAChangeForAShareOfTheMedian) {
    // Six batches equal the median of their window, so there is hardly any noise.
    EXPECT_TRUE(settled_batches({50, 50, 50, 90, 50.9, 50.9, 50.9, 10}));
    EXPECT_FALSE(settled_batches({50, 50, 50, 90, 51.1, 51.1, 51.1, 10}));
}

TEST(WarmupRule, StationaryIsContentWithNoiseThatHangsTogether) {
    // 500 blocks: the standard deviation of a share of 0.95 is 0.01.
    for (const double noise : {0.01, 0.05}) {
        for (const double autocorrelation : {0.0, 0.6, 0.8}) {
            const SimulatedDeviations deviations{"", autocorrelation, 0.02, 0.0, noise};
            EXPECT_GT(warm_up(
                          *rule("stationary"), deviations, [](double) { return 1.0; }, 500, 1)
                          .settled,
                      0.97)
                << noise << ' ' << autocorrelation;
        }
    }
}

TEST(WarmupRule, StationaryLeavesLittleOfATrend) {
    // Calls begin at twice their time; after the 45 that are discarded in any case the next hundred would take 6.5 %
    // more on average in the first trend.
    const auto decay = [](double i) { return 1.0 + std::exp(-i / 30.0); };
    const auto step = [](double i) { return i < 30 ? 2.0 : 1.0; };
    for (const double autocorrelation : {0.0, 0.6, 0.8}) {
        const SimulatedDeviations deviations{"", autocorrelation, 0.02, 0.0, 0.05};
        EXPECT_LT(warm_up(*rule("stationary"), deviations, decay, 500, 1).excess, 0.01) << autocorrelation;
        EXPECT_LT(warm_up(*rule("stationary"), deviations, step, 500, 1).excess, 1e-12) << autocorrelation;
    }
}

TEST(WarmupRule, StationarySaysThatItGaveUp) {
    const auto stationary = rule("stationary(max=73)");
    std::vector<double> times;
    for (int i = 0; i < 73; ++i) {
        times.push_back(1.0 / (1.0 + i));
    }
    EXPECT_EQ(stationary->next(times), 0);
    EXPECT_FALSE(stationary->settled(times));
    EXPECT_TRUE(stationary->settled(std::vector<double>(73, 1.0)));
    EXPECT_FALSE(rule("stationary(max=20)")->settled(std::vector<double>(20, 1.0))); // too few to know
    EXPECT_TRUE(rule("fixed(calls=7)")->settled({}));
}

TEST(WarmupRule, StationaryGivesUpInTheEnd) {
    EXPECT_EQ(
        discarded(*rule("stationary(max=73)"), [](std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i)); }),
        73U);
}

} // namespace
} // namespace bench
