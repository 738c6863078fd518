#include "statistics/histogram.h"

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

TEST(Histogram, BinsBetweenTheStepsOfAClockLeaveNoGaps) {
    Histogram histogram{0.0, 40.0, std::vector<std::size_t>(40, 0), 0};
    for (std::size_t bin = 0; bin < 40; bin += 2) {
        histogram.counts[bin] = 10; // the clock ticks in steps of two bins
    }
    EXPECT_EQ(draw(histogram, 40, 1), "  |" + std::string(40, '#') + "\n  +" + std::string(40, '-') + "\n");
}

TEST(Histogram, FewerThanTenBarsShowNoShape) {
    Histogram histogram{0.0, 24.0, std::vector<std::size_t>(24, 0), 0};
    for (std::size_t bin = 0; bin < 24; bin += 3) {
        histogram.counts[bin] = 10; // in threes, eight bars would have no gaps; in twos, twelve have
    }
    EXPECT_EQ(draw(histogram, 24, 1), "  |####  ####  ####  ####\n  +" + std::string(24, '-') + "\n");
    Histogram nine{0.0, 27.0, std::vector<std::size_t>(27, 0), 0};
    for (std::size_t bin = 0; bin < 27; bin += 3) {
        nine.counts[bin] = 10;
    }
    EXPECT_NE(draw(nine, 27, 1), "  |" + std::string(27, '#') + "\n  +" + std::string(27, '-') + "\n");
    Histogram ten{0.0, 30.0, std::vector<std::size_t>(30, 0), 0};
    for (std::size_t bin = 0; bin < 30; bin += 3) {
        ten.counts[bin] = 10;
    }
    EXPECT_EQ(draw(ten, 30, 1), "  |" + std::string(30, '#') + "\n  +" + std::string(30, '-') + "\n");
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
