#include "rules/stopping_rule.h"

#include "coverage.h"

#include <gtest/gtest.h>

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
    EXPECT_EQ(fixed->least(), 10);
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

} // namespace
} // namespace bench
