#include "output/dataset.h"

#include <gtest/gtest.h>
#include <numeric>

namespace bench {
namespace {

std::vector<double> count_to(int last) {
    std::vector<double> values(static_cast<std::size_t>(last) + 1);
    std::iota(values.begin(), values.end(), 0.0);
    return values;
}

TEST(Histogram, CountsInUniformBinsUpToTheQuantile) {
    const Histogram histogram = make_histogram(count_to(100), 4, 0.8, 1e-9);
    EXPECT_EQ(histogram.low, 0.0);
    EXPECT_EQ(histogram.high, 80.0);
    EXPECT_EQ(histogram.width(), 20.0);
    EXPECT_EQ(histogram.counts, (std::vector<std::size_t>{20, 20, 20, 21})); // 80 itself is in the last bin
    EXPECT_EQ(histogram.overflow, 20U);
}

TEST(Histogram, EveryValueIsCountedOnce) {
    const std::vector<double> values = {0.271, 0.28, 0.28, 0.3, 0.31, 0.5, 12050.0};
    for (const double quantile : {0.0, 0.5, 0.99, 1.0}) {
        const Histogram histogram = make_histogram(values, 200, quantile, 1e-3);
        EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), histogram.overflow), 7U);
    }
}

TEST(Histogram, ValuesThatAreAllAlikeFillTheFirstBin) {
    const Histogram histogram = make_histogram(std::vector<double>(5, 2.0), 10, 0.99, 0.5);
    EXPECT_EQ(histogram.counts.front(), 5U);
    EXPECT_EQ(histogram.overflow, 0U);
    EXPECT_EQ(histogram.width(), 0.5);
}

TEST(Histogram, RoundingTakesNoValueOffTheEdgeOfItsBin) {
    std::vector<double> ticks; // 210 to 410 ns in bins of one; 210e-9 + 200e-9 is less than 410 * 1e-9
    for (int tick = 210; tick <= 410; ++tick) {
        ticks.push_back(tick * 1e-9);
    }
    const Histogram histogram = make_histogram(ticks, 200, 0.0, 1e-9);
    std::vector<std::size_t> expected(200, 1);
    expected.back() = 2;
    EXPECT_EQ(histogram.counts, expected);
    EXPECT_EQ(histogram.overflow, 0U);
}

TEST(Histogram, IsDrawnInProportion) {
    const Histogram histogram{0.0, 4.0, {4, 2, 1, 0}, 0};
    EXPECT_EQ(draw(histogram, 4, 4), "  |#\n"
                                     "  |#\n"
                                     "  |##\n"
                                     "  |###\n"
                                     "  +----\n");
    EXPECT_EQ(draw(histogram, 4, 1), "  |##.\n  +----\n"); // one of four is there, but less than half a row
}

/// A histogram of a clock that ticks in steps of some bins, drawn in one row.
std::string draw_steps(std::size_t bars, std::size_t step) {
    Histogram histogram{0.0, static_cast<double>(bars * step), std::vector<std::size_t>(bars * step, 0), 0};
    for (std::size_t bin = 0; bin < bars * step; bin += step) {
        histogram.counts[bin] = 10;
    }
    const std::string text = draw(histogram, bars * step, 1);
    return text.substr(3, text.find('\n') - 3); // what is drawn in the row
}

TEST(Histogram, BinsBetweenTheStepsOfAClockLeaveNoGapsWhereBarsShowAShape) {
    EXPECT_EQ(draw_steps(20, 2), std::string(40, '#'));
    EXPECT_EQ(draw_steps(10, 3), std::string(30, '#'));
    EXPECT_NE(draw_steps(9, 3), std::string(27, '#'));     // fewer than ten bars
    EXPECT_EQ(draw_steps(8, 3), "####  ####  ####  ####"); // twelve have, in twos
}

TEST(Histogram, GapsBeforeOutliersStay) {
    const std::string line = "  +" + std::string(20, '-') + "\n";
    Histogram histogram{0.0, 20.0, std::vector<std::size_t>(20, 0), 0};
    histogram.counts.front() = 9; // nine tenths
    histogram.counts.back() = 1;
    EXPECT_EQ(draw(histogram, 20, 1), "  |#" + std::string(18, ' ') + ".\n" + line);
    histogram.counts.front() = 8;
    histogram.counts.back() = 2;
    EXPECT_EQ(draw(histogram, 20, 1), "  |##" + std::string(16, ' ') + "..\n" + line);
}

} // namespace
} // namespace bench
