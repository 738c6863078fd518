#include "output/progress.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

TEST(Progress, TheTimeLeftFollowsFromThePace) {
    EXPECT_EQ(time_left(10, 30, 1.0), "about 3.0 s left");
    EXPECT_EQ(time_left(1, 0, 5.0), "about 0.0 s left");
    EXPECT_EQ(time_left(4, 1, 39.76), "about 9.9 s left");
    EXPECT_EQ(time_left(4, 1, 39.84), "about 10 s left");
    EXPECT_EQ(time_left(1, 2, 60.0), "about 2 min left");
    EXPECT_EQ(time_left(2, 100, 300.0), "about 4.2 h left");
    EXPECT_EQ(time_left(1, 2, 3.0, true), "at least 6.0 s left");
}

} // namespace
} // namespace bench
