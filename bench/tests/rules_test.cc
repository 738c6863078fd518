#include "coverage.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "rules/window_size.h"

#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace bench {
namespace {

std::unique_ptr<StoppingRule> rule(const std::string &text) { return make_rule(all_stopping_rules(), text); }

/// The samples of the blocks that a rule asks for, each of them valid.
std::vector<long> blocks_of(const StoppingRule &stopping, double seconds_per_sample) {
    std::vector<long> blocks;
    CellProgress progress;
    while (const long wanted = stopping.next_block(progress)) {
        blocks.push_back(wanted);
        ++progress.blocks;
        progress.valid += wanted;
        progress.seconds += seconds_per_sample * static_cast<double>(wanted);
        if (blocks.size() > 1000) {
            break;
        }
    }
    return blocks;
}

TEST(StoppingRule, FixedIsSplitIntoTenBlocks) {
    EXPECT_EQ(blocks_of(*rule("fixed(samples=1003)"), 0),
              (std::vector<long>{101, 101, 101, 100, 100, 100, 100, 100, 100, 100}));
    EXPECT_EQ(blocks_of(*rule("fixed(samples=3)"), 0), (std::vector<long>{1, 1, 1}));
}

TEST(StoppingRule, FixedIsSatisfiedByAllOfItsSamplesOnly) {
    const auto fixed = rule("fixed(samples=10)");
    EXPECT_EQ(fixed->min_samples(), 10);
    CellProgress progress;
    progress.blocks = 10;
    progress.valid = 9;
    EXPECT_EQ(fixed->next_block(progress), 1); // what a block that gave up has left out
    EXPECT_FALSE(fixed->satisfied(progress));
    progress.blocks = 20;
    EXPECT_EQ(fixed->next_block(progress), 0);
    EXPECT_FALSE(fixed->satisfied(progress));
    progress.valid = 10;
    EXPECT_TRUE(fixed->satisfied(progress));
    progress.blocks = 10;
    EXPECT_EQ(fixed->next_block(progress), 0);
    progress.valid = 0;
    EXPECT_EQ(fixed->next_block(progress), 0); // gives up if all samples fail
}

TEST(StoppingRule, BudgetFillsItsTimeInShares) {
    const std::vector<long> blocks = blocks_of(*rule("budget(time=1s)"), 1e-3);
    EXPECT_EQ(blocks.front(), 10);
    long sum = 0;
    for (const long block : blocks) {
        EXPECT_LE(block, 100);
        sum += block;
    }
    EXPECT_GE(sum, 999);
    EXPECT_LE(sum, 1001);
}

TEST(StoppingRule, BudgetEndsThoughNothingIsValid) {
    const auto budget = rule("budget(time=10ms)");
    CellProgress progress;
    progress.blocks = 3;
    progress.seconds = 9e-3;
    EXPECT_GT(budget->next_block(progress), 0);
    progress.seconds = 11e-3;
    EXPECT_EQ(budget->next_block(progress), 0);
    EXPECT_FALSE(budget->satisfied(progress));
    progress.valid = 1;
    EXPECT_TRUE(budget->satisfied(progress));
}

TEST(StoppingRule, BudgetHasAMost) {
    const std::vector<long> blocks = blocks_of(*rule("budget(time=1s,most=25)"), 1e-6);
    EXPECT_EQ(blocks, (std::vector<long>{10, 15}));
}

TEST(StoppingRule, PrecisionTakesAsManyAsTheNoiseNeeds) {
    // The interval of a median of n normal values is about 2 * 1.96 * 1.2533 * deviation / sqrt(n) wide: n is the
    // square of that divided by the width.
    for (const double deviation : {0.05, 0.1}) {
        const double expected = std::pow(2 * 1.96 * 1.2533 * deviation / 0.02, 2);
        const SimulatedDeviations deviations{"", 0.0, 0.0, 0.0, deviation};
        const double samples = cover(*rule("precision(min=50,block=5)"), deviations, 50, 1).samples;
        EXPECT_GT(samples, 0.8 * expected) << deviation;
        EXPECT_LT(samples, 2.0 * expected) << deviation; // the blocks' share, and 1.5 from look to look
    }
}

TEST(StoppingRule, PrecisionStopsWhereTheIntervalHoldsTheMedian) {
    // 300 cells: the standard deviation of a share is 0.013.
    for (const SimulatedDeviations &deviations : simulated_deviations()) {
        EXPECT_GT(cover(*rule("precision"), deviations, 300, 1).median, 0.92) << deviations.name;
    }
}

TEST(StoppingRule, PrecisionLooksAtTenBlocksFirst) {
    const SimulatedDeviations none{"none", 0.0, 0.0, 0.0, 0.0};
    EXPECT_EQ(cover(*rule("precision"), none, 1, 1).samples, 200);
    EXPECT_EQ(cover(*rule("precision(min=501)"), none, 1, 1).samples, 510); // blocks of 51
    EXPECT_EQ(cover(*rule("precision(min=5,block=7)"), none, 1, 1).samples, 70);
}

// 300 equal values under a clock with steps of 20 %: their interval is [0.9 + 0.2 * 0.44, 0.9 + 0.2 * 0.56].
TEST(StoppingRule, PrecisionIsNotContentWithTheStepOfTheClock) {
    const std::vector<std::vector<double>> values(all_metrics().size(), std::vector<double>(300, 1.0));
    const std::vector<double> steps(all_metrics().size(), 0.2);
    const std::vector<long> blocks(15, 20);
    const auto precision = rule("precision");
    EXPECT_EQ(precision->next_block({15, 300, 0.0, false, values, blocks}), 0);
    EXPECT_GT(precision->next_block({15, 300, 0.0, false, values, blocks, steps}), 0);
    EXPECT_EQ(rule("precision(width=0.025)")->next_block({15, 300, 0.0, false, values, blocks, steps}), 0);
    for (const SimulatedDeviations &deviations : simulated_steps()) {
        const Coverage found = cover(*precision, deviations, 300, 1);
        EXPECT_GE(found.median, 0.95) << deviations.name;
        EXPECT_LT(found.samples, 5e4) << deviations.name; // what the step hides is not waited for
    }
}

TEST(StoppingRule, PrecisionGivesUpInTheEnd) {
    const SimulatedDeviations wild{"", 0.0, 0.0, 0.0, 0.5};
    EXPECT_EQ(cover(*rule("precision(width=0.001,max=510)"), wild, 1, 1).samples, 510);
    const auto precision = rule("precision(width=0.001,max=510)");
    std::vector<std::vector<double>> values(all_metrics().size());
    std::vector<long> blocks;
    SimulatedCell cell(wild, 1);
    for (int block = 0; block < 10; ++block) {
        cell.measure(51, values[0]);
        blocks.push_back(51);
    }
    for (std::vector<double> &metric : values) {
        metric = values[0];
    }
    EXPECT_FALSE(precision->satisfied({10, 510, 0.0, false, values, blocks}));
    EXPECT_TRUE(rule("precision(width=1)")->satisfied({10, 510, 0.0, false, values, blocks}));
}

TEST(StoppingRule, BlocksLeftAreThoseToTheNextDecision) {
    const auto left = [](const char *text, long blocks, long valid) {
        CellProgress progress;
        progress.blocks = blocks;
        progress.valid = valid;
        return rule(text)->blocks_left(progress);
    };
    EXPECT_EQ(left("fixed", 4, 400), 6);
    EXPECT_EQ(left("fixed", 10, 999), 1); // makes up for a block that gave up
    EXPECT_EQ(left("fixed(samples=3)", 1, 1), 2);
    EXPECT_EQ(left("budget", 0, 0), 10);
    EXPECT_EQ(left("budget", 3, 30), 7);
    EXPECT_EQ(left("budget", 12, 120), 1); // until its time is over
    EXPECT_EQ(left("precision", 3, 60), 7);
    EXPECT_EQ(left("precision", 10, 200), 5); // looks again at 15, and at 23
    EXPECT_EQ(left("precision", 16, 320), 7);
    EXPECT_EQ(left("precision(max=330)", 16, 320), 1); // ten samples
    EXPECT_TRUE(rule("precision")->open_ended());
    EXPECT_FALSE(rule("fixed")->open_ended());
}

TEST(StoppingRule, PrecisionEndsWhereABlockFoundNoSamples) {
    const auto precision = rule("precision");
    const std::vector<std::vector<double>> values(all_metrics().size());
    CellProgress progress;
    progress.blocks = 1;
    progress.starved = true;
    progress.values = values;
    EXPECT_EQ(precision->next_block(progress), 0);
    EXPECT_FALSE(precision->satisfied(progress));
}

/// "budget.time=1s from 1e-06 to 1e+06" for each parameter of a registry.
template <typename Registry> std::vector<std::string> parameters_of(const Registry &registry) {
    std::vector<std::string> found;
    for (const auto &entry : registry) {
        for (const ComponentParameter &one : entry.parameters) {
            found.push_back(fmt::format("{}.{}={} from {:g} to {:g}", entry.name, one.name, one.value, one.values.low,
                                        one.values.high));
        }
    }
    return found;
}

TEST(RuleParameters, StoppingRules) {
    EXPECT_EQ(
        parameters_of(all_stopping_rules()),
        (std::vector<std::string>{"fixed.samples=1000 from 1 to 1e+09", "budget.time=1s from 1e-06 to 1e+06",
                                  "budget.most=1000000 from 1 to 1e+09", "precision.width=0.02 from 1e-06 to 1",
                                  "precision.metric=latency_avg from 0 to 0",
                                  "precision.confidence=0.95 from 0.5 to 0.9999", "precision.min=200 from 5 to 1e+09",
                                  "precision.max=100000 from 5 to 1e+09", "precision.block=20 from 1 to 1e+06"}));
}

TEST(RuleParameters, WarmupRules) {
    EXPECT_EQ(
        parameters_of(all_warmup_rules()),
        (std::vector<std::string>{"fixed.calls=10 from 0 to 1e+06", "stationary.min=5 from 0 to 1e+06",
                                  "stationary.window=20 from 4 to 100000", "stationary.change=0.02 from 1e-06 to 1",
                                  "stationary.max=200 from 1 to 1e+06"}));
}

std::unique_ptr<WarmupRule> warmup(const std::string &text) { return make_rule(all_warmup_rules(), text); }

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
    return warmup("stationary")->settled(times);
}

double noise(std::mt19937_64 &random) { return 0.01 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5); }

TEST(WarmupRule, FixedRunsSoMany) {
    EXPECT_EQ(warmup("fixed(calls=7)")->number(), 7);
    EXPECT_EQ(warmup("fixed(calls=0)")->number(), 0);
    EXPECT_EQ(warmup("stationary")->number(), std::nullopt);
}

TEST(WarmupRule, StationaryIsContentWithSteadyTimes) {
    std::mt19937_64 random(1);
    EXPECT_EQ(discarded(*warmup("stationary"), [&](std::size_t) { return 1.0 + noise(random); }), 45U);
    EXPECT_EQ(discarded(*warmup("stationary"), [](std::size_t) { return 1.0; }), 45U);
}

TEST(WarmupRule, StationaryWaitsForTheEndOfAStep) {
    std::mt19937_64 random(1);
    const auto step = [&](std::size_t i) { return (i < 30 ? 2.0 : 1.0) + noise(random); };
    const std::size_t count = discarded(*warmup("stationary"), step);
    EXPECT_GE(count, 65U); // two windows of 20 after the step, except for what medians ignore
    EXPECT_LE(count, 105U);
}

TEST(WarmupRule, StationarySeesATrendThatMediansDoNot) {
    // 1.5 % within two windows.
    const auto trend = [](std::size_t i) { return 1.0 - 0.000375 * static_cast<double>(i); };
    EXPECT_EQ(discarded(*warmup("stationary"), trend), 200U);
}

TEST(WarmupRule, StationaryJudgesByMedians) {
    // A quarter of the second window is quicker, which no median of five calls sees.
    const auto some_quick = [](std::size_t i) { return i >= 25 && i % 4 == 0 ? 0.5 : 1.0; };
    EXPECT_EQ(discarded(*warmup("stationary"), some_quick), 45U);
    // Batches of five calls without a trend, although what lies before them has one.
    const auto batches = [](std::size_t i) {
        constexpr std::array levels = {1.0, 1.4, 1.3, 1.0, 1.1, 1.2, 1.1, 1.0};
        return levels[(i + 40 - 5) / 5 % levels.size()];
    };
    EXPECT_EQ(discarded(*warmup("stationary"), batches), 45U);
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
                          *warmup("stationary"), deviations, [](double) { return 1.0; }, 500, 1)
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
        EXPECT_LT(warm_up(*warmup("stationary"), deviations, decay, 500, 1).excess, 0.01) << autocorrelation;
        EXPECT_LT(warm_up(*warmup("stationary"), deviations, step, 500, 1).excess, 1e-12) << autocorrelation;
    }
}

TEST(WarmupRule, StationarySaysThatItGaveUp) {
    const auto stationary = warmup("stationary(max=73)");
    std::vector<double> times;
    for (int i = 0; i < 73; ++i) {
        times.push_back(1.0 / (1.0 + i));
    }
    EXPECT_EQ(stationary->next(times), 0);
    EXPECT_FALSE(stationary->settled(times));
    EXPECT_TRUE(stationary->settled(std::vector<double>(73, 1.0)));
    EXPECT_FALSE(warmup("stationary(max=20)")->settled(std::vector<double>(20, 1.0))); // too few to know
    EXPECT_TRUE(warmup("fixed(calls=7)")->settled({}));
}

TEST(WarmupRule, StationaryGivesUpInTheEnd) {
    EXPECT_EQ(
        discarded(*warmup("stationary(max=73)"), [](std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i)); }),
        73U);
}

constexpr double us = 1e-6;

/// A series of 21 windows: the first missed, which does not count, then `tight` tight ones and `missed` missed ones.
std::vector<std::uint8_t> series(std::size_t tight, std::size_t missed) {
    std::vector<std::uint8_t> fits(21, static_cast<std::uint8_t>(WindowFit::ample));
    fits[0] = static_cast<std::uint8_t>(WindowFit::missed);
    for (std::size_t i = 1; i <= tight + missed; ++i) {
        fits[i] = static_cast<std::uint8_t>(i <= missed ? WindowFit::missed : WindowFit::tight);
    }
    return fits;
}

TEST(WindowSize, IsFoundFromTheDurationWhereNotAsked) {
    WindowSize size(std::nullopt, 2.0, 0.25);
    size.learn({}, 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 110 * us);
    EXPECT_DOUBLE_EQ(size.smaller(), 55 * us);
}

TEST(WindowSize, GrowsWhereMoreThanTheShareWereMissed) {
    WindowSize size(20 * us, 3.0, 0.25);
    size.learn({}, 50 * us);
    size.learn(series(0, 5), 50 * us); // exactly the share
    EXPECT_DOUBLE_EQ(size.value(), 20 * us);
    size.learn(series(0, 6), 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 60 * us);
    size.learn(series(14, 6), 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 180 * us);
}

TEST(WindowSize, GoesBackWhereTheSmallerOneWouldDoButNotBelowTheFirst) {
    WindowSize size(20 * us, 2.0, 0.25);
    size.learn({}, 50 * us);
    size.learn(series(0, 20), 50 * us);
    size.learn(series(0, 20), 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 80 * us);
    size.learn(series(6, 0), 50 * us); // would have been missed in 40 us
    EXPECT_DOUBLE_EQ(size.value(), 80 * us);
    size.learn(series(5, 0), 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 40 * us);
    size.learn(series(0, 0), 50 * us);
    size.learn(series(0, 0), 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 20 * us);
}

TEST(WindowSize, OneWindowSaysNothing) {
    WindowSize size(20 * us, 2.0, 0.25);
    size.learn({}, 50 * us);
    size.learn(std::vector<std::uint8_t>{2}, 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 20 * us);
}

TEST(WindowSize, StaysFixedWithoutGrowth) {
    WindowSize size(20 * us, 1.0, 0.25);
    size.learn({}, 50 * us);
    size.learn(series(0, 20), 50 * us);
    size.learn(series(0, 0), 50 * us);
    EXPECT_DOUBLE_EQ(size.value(), 20 * us);
}

TEST(WindowSize, EndsToGrow) {
    WindowSize size(20 * us, 2.0, 0.25);
    size.learn({}, 50 * us);
    for (int i = 0; i < 100; ++i) {
        size.learn(series(0, 20), 50 * us);
    }
    EXPECT_DOUBLE_EQ(size.value(), 0.1);
    WindowSize longer(1.0, 2.0, 0.25); // that was asked for
    longer.learn({}, 50 * us);
    longer.learn(series(0, 20), 50 * us);
    EXPECT_DOUBLE_EQ(longer.value(), 1.0);
}

} // namespace
} // namespace bench
