#include "coverage.h"
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

TEST(Distributions, HaveTheQuantilesOfTables) {
    EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
    EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736174707, 1e-9);
    EXPECT_NEAR(student_quantile(0.75, 10), 0.6998120613124324, 1e-9);
    EXPECT_NEAR(student_quantile(0.975, 2), 4.302652729749462, 1e-9);
    EXPECT_NEAR(student_quantile(0.975, 9), 2.2621571628540993, 1e-9);
    EXPECT_NEAR(student_quantile(0.995, 10), 3.1692726726169513, 1e-9);
    EXPECT_NEAR(student_quantile(0.975, 199), 1.971956544249395, 1e-8); // two ways of computing it
    EXPECT_NEAR(student_quantile(0.975, 200), 1.9718962236339088, 2e-9);
    EXPECT_NEAR(student_quantile(0.75, 200), 0.6757184114042201, 1e-10);
    EXPECT_NEAR(student_quantile(0.6, 200), 0.25368437919014747, 1e-10);
}

TEST(MedianInterval, ValuesThatHangTogetherAreWorthOneAtLeast) {
    std::vector<double> values(100);
    std::iota(values.begin(), values.end(), 0.0);
    const MedianInterval interval = median_interval(values, std::vector<long>{100}, 0.95);
    EXPECT_DOUBLE_EQ(interval.effective, 1.0);
    EXPECT_DOUBLE_EQ(interval.low, 0.0);
    EXPECT_DOUBLE_EQ(interval.high, 99.0);
}

TEST(MedianInterval, PartsAreAsEqualAsTheyCanBe) {
    EXPECT_EQ(equal_parts(23), (std::vector<long>{3, 3, 3, 2, 2, 2, 2, 2, 2, 2}));
    EXPECT_EQ(equal_parts(10), std::vector<long>(10, 1));
    EXPECT_EQ(equal_parts(1), (std::vector<long>{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// The share of stored 95 % intervals that hold the truth. 500 cells: its standard deviation is 0.009.
TEST(Intervals, HoldMedianAndMeanWhateverSamplesDeviateBy) {
    for (const SimulatedDeviations &deviations : simulated_deviations()) {
        for (const char *rule : {"fixed(samples=30)", "fixed(samples=1000)"}) {
            const Coverage found = cover(*make_rule(all_stopping_rules(), rule), deviations, 500, 1);
            EXPECT_NEAR(found.median, 0.955, 0.035) << rule << ", " << deviations.name;
            EXPECT_TRUE(found.samples < 1000 || std::abs(found.mean - 0.955) < 0.035) << deviations.name;
        }
    }
}

// Blocks that follow each other closely are not independent: without their correlation `precision` ends far too early.
TEST(MedianInterval, HoldsWhereBlocksResembleTheirNeighbors) {
    const auto fixed = make_rule(all_stopping_rules(), "fixed(samples=1000)");
    const auto precision = make_rule(all_stopping_rules(), "precision");
    for (const SimulatedDeviations &deviations : simulated_correlated()) {
        EXPECT_GE(cover(*fixed, deviations, 200, 1).median, 0.90) << deviations.name; // 0.93 less two deviations
    }
    EXPECT_GE(cover(*precision, simulated_correlated().back(), 40, 1).median, 0.85); // 0.5 without
}

TEST(MedianInterval, SeesWithinTheStepOfTheClock) {
    const auto fixed = make_rule(all_stopping_rules(), "fixed(samples=1000)");
    for (const SimulatedDeviations &deviations : simulated_steps()) {
        const Coverage found = cover(*fixed, deviations, 500, 1);
        EXPECT_NEAR(found.found, 1.0, 0.1 * deviations.step) << deviations.name; // 1 ns
        EXPECT_GE(found.median, 0.95) << deviations.name;
    }
}

TEST(MedianInterval, InterpolatesGroupedValues) {
    // 3 of 10 below 5, 6 at 10, so that half are below 5 + 10 * 2 / 6.
    const std::vector<double> values = {0, 10, 10, 20, 10, 0, 10, 10, 0, 10};
    const MedianInterval interval = median_interval(values, {}, 0.95, 10.0);
    EXPECT_NEAR(interval.median, 5 + 10 * 2.0 / 6, 1e-6);
    EXPECT_EQ(interval.step_error, 2.0);
    // Ranks 5 -+ 3.0990 of 10, in the groups of 3 and 1.
    EXPECT_NEAR(interval.low, -5 + 10 * (5 - 3.09903) / 3 - 2.0, 1e-3);
    EXPECT_NEAR(interval.high, 5 + 10 * (5 + 3.09903 - 3) / 6 + 2.0, 1e-3);
    // In a gap: its middle. Values that differ by less than a step share it.
    EXPECT_NEAR(median_interval(std::vector<double>{1, 9}, {}, 0.95, 2.0).median, 5.0, 1e-6);
    EXPECT_NEAR(median_interval(std::vector<double>{1, 2, 2.5}, {}, 0.95, 4.0).median, 5.5 / 3, 1e-6);
    EXPECT_NEAR(median_interval(std::vector<double>(100, 7.0), {}, 0.95, 1.0).median, 7.0, 1e-6);
    EXPECT_GE(median_interval(std::vector<double>(1000000, 7.0), {}, 0.95, 1.0).high, 7.2);
}

TEST(MedianInterval, IsOfInterpolatedOrderStatistics) {
    // Ranks 49.5 -+ 1.96 * sqrt(100) / 2, from 0, of values whose ranks do not hang together.
    std::vector<double> values;
    for (int i = 0; i < 100; ++i) {
        values.push_back((i * 37) % 100); // autocorrelation of the ranks -0.03
    }
    const MedianInterval interval = median_interval(values, {}, 0.95);
    EXPECT_DOUBLE_EQ(interval.median, 49.5);
    EXPECT_NEAR(interval.low, 49.5 - 9.79982, 1e-5);
    EXPECT_NEAR(interval.high, 49.5 + 9.79982, 1e-5);
    EXPECT_NEAR(interval.effective, 100.0, 1e-9);
}

TEST(MedianInterval, OfBlocksIsAsWideAsTheseDiffer) {
    // In the four blocks of 10, there are 4, 8, 5 and 3 values below the median: sums of -1, 3, 0, -2 halves.
    std::vector<double> values(40, 1.0);
    std::size_t begin = 0;
    for (const std::size_t below : {4, 8, 5, 3}) {
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(begin), below, 0.0);
        begin += 10;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] += 1e-3 * static_cast<double>((i * 17) % 40); // all differ
    }
    const std::vector<long> blocks = {10, 10, 10, 10};
    const double half = 3.182446305284263 * std::sqrt((1 + 9 + 0 + 4) * 4.0 / 3.0) / 40.0;
    EXPECT_NEAR(median_interval(values, blocks, 0.95).effective, std::pow(1.959963984540054 * 0.5 / half, 2), 1e-9);
}

TEST(MedianInterval, EmptyBlocksDoNotCount) {
    // Not even for the fewest values that blocks need, 4 in each.
    std::vector<double> values(20);
    std::iota(values.begin(), values.end(), 0.0);
    const MedianInterval some = median_interval(values, std::vector<long>{4, 0, 4, 4, 0, 4, 4}, 0.95);
    const MedianInterval all = median_interval(values, std::vector<long>{4, 4, 4, 4, 4}, 0.95);
    EXPECT_EQ(some.low, all.low);
    EXPECT_EQ(some.high, all.high);
    EXPECT_EQ(some.effective, all.effective);
}

TEST(MedianInterval, OfFewValuesIsAllOfThem) {
    const MedianInterval interval = median_interval(std::vector<double>{3, 1, 2}, {}, 0.95);
    EXPECT_EQ(interval.low, 1.0);
    EXPECT_EQ(interval.high, 3.0);
    EXPECT_EQ(median_interval(std::vector<double>{3}, {}, 0.95).high, 3.0);
    EXPECT_TRUE(std::isnan(median_interval({}, {}, 0.95).low));
    EXPECT_EQ(median_interval({}, {}, 0.95).effective, 0.0);
}

TEST(MedianInterval, OfWhatIsAllAlikeIsThat) {
    const std::vector<double> values(100, 7.0);
    const MedianInterval interval = median_interval(values, equal_parts(100), 0.95);
    EXPECT_EQ(interval.low, 7.0);
    EXPECT_EQ(interval.high, 7.0);
    EXPECT_NEAR(interval.effective, 100.0, 1e-9);
}

TEST(MeanInterval, IsThatOfStudent) {
    // 2.776 is the quantile of Student's distribution with 4 degrees of freedom; the values do not hang together.
    const MeanInterval interval = mean_interval(std::vector<double>{1, 5, 2, 4, 3}, {}, 0.95);
    EXPECT_DOUBLE_EQ(interval.mean, 3.0);
    EXPECT_NEAR(interval.effective, 5.0, 1e-9);
    EXPECT_NEAR(interval.half, 2.7764451 * std::sqrt(2.5 / 5.0), 1e-6);
}

TEST(MeanInterval, OfBlocksIsAsWideAsTheseDiffer) {
    // Blocks of 4, whose deviations from the mean of 0 sum to 4, -4, 8, -4 and -4; Student's quantile is that of 4
    // degrees of freedom, for the blocks, and that of 19, for what the values are worth at most.
    std::vector<double> values;
    for (const double level : {1.0, -1.0, 2.0, -1.0, -1.0}) {
        values.insert(values.end(), {level - 0.5, level + 0.5, level - 0.5, level + 0.5});
    }
    const double half = 2.7764451051977987 * std::sqrt((16 + 16 + 64 + 16 + 16) * 5.0 / 4.0) / 20.0;
    const double variance = (4 * (1 + 1 + 4 + 1 + 1) + 20 * 0.25) / 19.0;
    const MeanInterval interval = mean_interval(values, std::vector<long>(5, 4), 0.95);
    EXPECT_DOUBLE_EQ(interval.mean, 0.0);
    EXPECT_NEAR(interval.half, half, 1e-9);
    EXPECT_NEAR(interval.effective, std::pow(2.093024054408263, 2) * variance / (half * half), 1e-9);
}

TEST(MeanInterval, FewerThanFourValuesPerBlockSayNothingOfBlocks) {
    const std::vector<double> values = {1, 5, 2, 4, 3, 1, 5, 2, 4, 3, 9, 9, 9, 9, 9, 1, 2, 3, 5};
    const MeanInterval none = mean_interval(values, {}, 0.95);
    EXPECT_EQ(mean_interval(values, std::vector<long>{4, 4, 4, 4, 3}, 0.95).half, none.half);
    EXPECT_EQ(mean_interval(values, std::vector<long>{19}, 0.95).half, none.half); // nor does one block
    EXPECT_NE(mean_interval(values, std::vector<long>{5, 5, 5, 4}, 0.95).half, none.half);
    EXPECT_NE(mean_interval(values, std::vector<long>{10, 9}, 0.95).half, none.half); // two do
}

TEST(MeanInterval, OfWhatIsAllAlikeHasNoWidth) {
    const MeanInterval interval = mean_interval(std::vector<double>(100, 7.0), equal_parts(100), 0.95);
    EXPECT_EQ(interval.mean, 7.0);
    EXPECT_EQ(interval.half, 0.0);
    EXPECT_EQ(interval.effective, 100.0);
}

TEST(MeanInterval, OfOneValueIsNone) {
    std::vector<double> hanging(100); // worth less than two
    std::iota(hanging.begin(), hanging.end(), 0.0);
    EXPECT_TRUE(std::isnan(mean_interval(hanging, std::vector<long>{100}, 0.95).half));
    EXPECT_EQ(mean_interval(hanging, std::vector<long>{100}, 0.95).effective, 1.0);
    EXPECT_EQ(mean_interval(std::vector<double>{3.0}, {}, 0.95).mean, 3.0);
    EXPECT_TRUE(std::isnan(mean_interval(std::vector<double>{3.0}, {}, 0.95).half));
    EXPECT_TRUE(std::isnan(mean_interval({}, {}, 0.95).mean));
    EXPECT_EQ(mean_interval({}, {}, 0.95).effective, 0.0);
}

} // namespace
} // namespace bench
