#include "stopping_rule.h"

#include "metric.h"
#include "names.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace bench {
namespace {

std::unique_ptr<StoppingRule> rule(const std::string &text) {
    const Part part = parse_part("stopping rule", text, all_stopping_rules());
    return find_by_name(all_stopping_rules(), part.name()).make(part);
}

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
    EXPECT_EQ(fixed->next_block(progress), 0); // what never succeeds is not tried for ever
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

/// Blocks until the rule is content, with values around 1 of this relative deviation.
long samples_until(const std::string &text, double deviation) {
    const auto precision = rule(text);
    std::vector<std::vector<double>> values(all_metrics().size());
    std::mt19937_64 random(3);
    CellProgress progress;
    for (;;) {
        progress.values = values;
        const long wanted = precision->next_block(progress);
        if (wanted == 0) {
            return precision->satisfied(progress) ? progress.valid : -progress.valid;
        }
        for (long i = 0; i < wanted; ++i) {
            double sum = 0.0; // of 12 uniform numbers: nearly normal, the same on all machines
            for (int k = 0; k < 12; ++k) {
                sum += static_cast<double>(random() >> 11) * 0x1p-53;
            }
            for (std::vector<double> &metric : values) {
                metric.push_back(1.0 + deviation * (sum - 6.0));
            }
        }
        ++progress.blocks;
        progress.valid += wanted;
    }
}

TEST(StoppingRule, PrecisionTakesAsManyAsTheNoiseNeeds) {
    // The interval of a median of n normal values is about 2 * 1.96 * 1.2533 * deviation / sqrt(n) wide: n is the
    // square of that divided by the width.
    for (const double deviation : {0.02, 0.1}) {
        const double expected = std::pow(2 * 1.96 * 1.2533 * deviation / 0.02, 2);
        const auto samples = static_cast<double>(samples_until("precision(width=0.02,block=10)", deviation));
        EXPECT_GT(samples, 0.5 * expected) << deviation;
        EXPECT_LT(samples, 2.0 * expected + 50) << deviation;
    }
}

TEST(StoppingRule, PrecisionTakesAFewInAnyCaseAndGivesUpInTheEnd) {
    EXPECT_EQ(samples_until("precision(min=70)", 0.0), 70);
    EXPECT_EQ(samples_until("precision(width=0.001,max=500)", 0.5), -500);
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
