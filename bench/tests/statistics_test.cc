#include "rules/statistics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace bench {
namespace {

TEST(Statistics, QuantilesInterpolateAsNumPyDoes) {
    // numpy.quantile([1, 2, 4, 8, 16], [0, 0.05, 0.3, 0.5, 0.95, 1])
    const std::vector<double> values = {1, 2, 4, 8, 16};
    EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.0), 1.0);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.05), 1.2);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.3), 2.4);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.5), 4.0);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.95), 14.4);
    EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 1.0), 16.0);
}

TEST(Statistics, SummaryOfUnsortedValues) {
    const Summary summary = summarize({4, 1, 16, 2, 8});
    EXPECT_DOUBLE_EQ(summary.mean, 6.2);
    EXPECT_DOUBLE_EQ(summary.median, 4.0);
    EXPECT_DOUBLE_EQ(summary.min, 1.0);
    EXPECT_DOUBLE_EQ(summary.max, 16.0);
    EXPECT_DOUBLE_EQ(summary.p5, 1.2);
    EXPECT_DOUBLE_EQ(summary.p95, 14.4);
    EXPECT_DOUBLE_EQ(summary.p99, 15.68);
}

TEST(Statistics, MedianOfAnEvenNumberLiesBetween) { EXPECT_DOUBLE_EQ(summarize({1, 2, 4, 8}).median, 3.0); }

TEST(Statistics, OneValueIsEveryStatistic) {
    const Summary summary = summarize({3.5});
    for (const Statistic &statistic : statistics()) {
        EXPECT_DOUBLE_EQ(summary.*statistic.value, statistic.has_unit ? 3.5 : 1.0) << statistic.name;
    }
}

TEST(Statistics, NoValueIsNeverZero) {
    const Summary summary = summarize({});
    for (const Statistic &statistic : statistics()) {
        EXPECT_TRUE(std::isnan(summary.*statistic.value)) << statistic.name;
    }
}

/// Differences of readings of a counter that advances by `step`, apart by times of all kinds.
std::vector<double> differences_of(double step, double shortest) {
    std::mt19937_64 random(1);
    std::vector<double> differences;
    double time = 0.0;
    double last = 0.0;
    for (int i = 0; i < 2000; ++i) {
        time += shortest * (1.0 + static_cast<double>(random() >> 11) * 0x1p-53) + (i % 500 == 0 ? 1e6 : 0.0);
        const double reading = std::floor(std::floor(time / step) * step); // as a number of whole ticks
        differences.push_back(reading - last);
        last = reading;
    }
    return differences;
}

TEST(Step, IsFoundBelowTheTimeThatReadingTakes) {
    EXPECT_DOUBLE_EQ(step_of(differences_of(1.0, 46.0)), 1.0);
    EXPECT_NEAR(step_of(differences_of(29.0, 46.0)), 29.0, 1e-9);
    EXPECT_NEAR(step_of(differences_of(28.5, 46.0)), 28.5, 0.1);  // 28 or 29
    EXPECT_NEAR(step_of(differences_of(10.0, 46.0)), 10.0, 1e-9); // never one alone
    EXPECT_NEAR(step_of(differences_of(238.0, 20.0)), 238.0, 1e-9);
    EXPECT_EQ(step_of(std::vector<double>(100, 0.0)), 0.0);
    EXPECT_EQ(step_of(std::vector<double>{0, 1, 1, 0, 2}), 1.0);
}

TEST(Shuffle, IsTheSamePermutationOnAllMachines) {
    std::mt19937_64 random(1);
    std::vector<int> items(6);
    std::iota(items.begin(), items.end(), 0);
    shuffle(items, random);
    EXPECT_EQ(items, (std::vector<int>{1, 3, 0, 4, 5, 2}));
    // A number for each item but the last: what is drawn afterwards is the same, too.
    std::mt19937_64 other(1);
    other.discard(items.size() - 1);
    EXPECT_EQ(random, other);
}

TEST(Shuffle, LeavesNoneAndOneAsTheyAre) {
    std::mt19937_64 random(1);
    std::vector<int> none;
    std::vector<int> one = {7};
    shuffle(none, random);
    shuffle(one, random);
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(one, std::vector<int>{7});
    EXPECT_EQ(random, std::mt19937_64(1));
}

TEST(Shuffle, MakesEveryOrderAsOften) {
    std::mt19937_64 random(1);
    std::map<std::vector<int>, int> counts;
    for (int i = 0; i < 6000; ++i) {
        std::vector<int> items = {0, 1, 2};
        shuffle(items, random);
        ++counts[items];
    }
    EXPECT_EQ(counts.size(), 6U);
    for (const auto &[order, count] : counts) {
        EXPECT_NEAR(count, 1000, 100); // 3.5 standard deviations
    }
}

} // namespace
} // namespace bench
