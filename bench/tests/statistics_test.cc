#include "statistics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

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

double uniform(std::mt19937_64 &random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Independent for `memory` 0, else a first-order autoregressive process.
std::vector<double> process(std::mt19937_64 &random, std::size_t count, double memory) {
    std::vector<double> values;
    double state = 0.0;
    for (std::size_t i = 0; i < count + 100; ++i) {
        double sum = -6.0;
        for (int k = 0; k < 12; ++k) {
            sum += uniform(random);
        }
        state = memory * state + std::sqrt(1 - memory * memory) * sum;
        values.push_back(state);
    }
    values.erase(values.begin(), values.begin() + 100);
    return values;
}

/// The share of intervals that contain the true median, 0.
double coverage(double memory, double confidence) {
    std::mt19937_64 random(5);
    int inside = 0;
    constexpr int runs = 1000;
    for (int i = 0; i < runs; ++i) {
        const MedianInterval interval = median_interval(process(random, 200, memory), confidence);
        inside += interval.low <= 0.0 && 0.0 <= interval.high ? 1 : 0;
    }
    return static_cast<double>(inside) / runs;
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItSays) {
    // The standard deviation of the estimate is 0.007; order statistics are at least as confident as they say.
    EXPECT_GT(coverage(0.0, 0.95), 0.93);
    EXPECT_LT(coverage(0.0, 0.95), 0.98);
    EXPECT_LT(coverage(0.0, 0.6), 0.7);
}

TEST(MedianInterval, TakesAutocorrelationIntoAccount) {
    // Without it a process with memory 0.6 is covered by less than 0.75 of the intervals.
    EXPECT_GT(coverage(0.6, 0.95), 0.9);
}

TEST(MedianInterval, CountsWhatValuesAreWorth) {
    std::mt19937_64 random(1);
    const std::vector<double> independent = process(random, 20000, 0.0);
    EXPECT_NEAR(median_interval(independent, 0.95).effective / 20000, 1.0, 0.03);
    const std::vector<double> dependent = process(random, 20000, 0.6);
    EXPECT_NEAR(median_interval(dependent, 0.95).effective / 20000, 0.25, 0.02); // (1 - 0.6) / (1 + 0.6)
}

TEST(MedianInterval, OfFewValuesIsAllOfThem) {
    const MedianInterval interval = median_interval(std::vector<double>{3, 1, 2}, 0.95);
    EXPECT_EQ(interval.low, 1.0);
    EXPECT_EQ(interval.high, 3.0);
    EXPECT_TRUE(std::isnan(median_interval({}, 0.95).low));
    EXPECT_EQ(median_interval({}, 0.95).effective, 0.0);
}

double mean_coverage(double memory, std::size_t count) {
    std::mt19937_64 random(6);
    int inside = 0;
    constexpr int runs = 2000;
    for (int i = 0; i < runs; ++i) {
        const MeanInterval interval = mean_interval(process(random, count, memory), 0.95);
        inside += std::abs(interval.mean) <= interval.half ? 1 : 0;
    }
    return static_cast<double>(inside) / runs;
}

TEST(MeanInterval, CoversTheMeanAsOftenAsItSays) {
    // The standard deviation of the estimate is 0.005.
    EXPECT_NEAR(mean_coverage(0.0, 200), 0.95, 0.015);
    EXPECT_NEAR(mean_coverage(0.6, 400), 0.95, 0.02); // without regard to it, 0.67
    EXPECT_GT(mean_coverage(0.0, 5), 0.93);           // by the normal distribution, 0.88
}

TEST(MeanInterval, IsThatOfStudent) {
    // 2.776 is the quantile of Student's distribution with 4 degrees of freedom; the values do not hang together.
    const MeanInterval interval = mean_interval(std::vector<double>{1, 5, 2, 4, 3}, 0.95);
    EXPECT_DOUBLE_EQ(interval.mean, 3.0);
    EXPECT_DOUBLE_EQ(interval.effective, 5.0);
    EXPECT_NEAR(interval.half, 2.776 * std::sqrt(2.5 / 5.0), 0.01);
}

TEST(MeanInterval, OfOneValueIsNone) {
    EXPECT_EQ(mean_interval(std::vector<double>{3.0}, 0.95).mean, 3.0);
    EXPECT_TRUE(std::isnan(mean_interval(std::vector<double>{3.0}, 0.95).half));
    EXPECT_TRUE(std::isnan(mean_interval({}, 0.95).mean));
}

TEST(Runs, AreAsManyAsChanceMakes) {
    std::mt19937_64 random(2);
    int unusual = 0;
    for (int i = 0; i < 1000; ++i) {
        unusual += std::abs(runs_deviation(process(random, 40, 0.0))) > 1.96 ? 1 : 0;
    }
    EXPECT_GT(unusual, 20);
    EXPECT_LT(unusual, 80);
}

TEST(Runs, AreFewUnderATrendAndManyUnderAlternation) {
    std::vector<double> trend;
    std::vector<double> alternation;
    for (int i = 0; i < 40; ++i) {
        trend.push_back(i);
        alternation.push_back(i % 2);
    }
    // 2 and 40 runs, where 21 are expected with a standard deviation of sqrt(20 * 19 / 39).
    EXPECT_NEAR(runs_deviation(trend), -19 / std::sqrt(20.0 * 19.0 / 39.0), 1e-9);
    EXPECT_NEAR(runs_deviation(alternation), 19 / std::sqrt(20.0 * 19.0 / 39.0), 1e-9);
    EXPECT_EQ(runs_deviation(std::vector<double>(10, 1.0)), 0.0);
}

} // namespace
} // namespace bench
