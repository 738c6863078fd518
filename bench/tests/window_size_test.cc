#include "rules/window_size.h"

#include <gtest/gtest.h>
#include <vector>

namespace bench {
namespace {

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
