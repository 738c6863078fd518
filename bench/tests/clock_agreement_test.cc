#include "context/clock_agreement.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

TEST(ClockAgreement, NamesTheRankThatIsFarthestOff) {
    const ClockAgreement agreement =
        judge_clocks({{{{1e-8, 1e-8}}, 2e-8}, {{{-3e-8, 2e-8}}, 3e-8}, {{{2e-8, 1e-8}}, 2e-8}});
    EXPECT_EQ(agreement.ranks, 3);
    EXPECT_EQ(agreement.outside, 0);
    EXPECT_EQ(agreement.worst, 2);
    EXPECT_EQ(agreement.offset, -3e-8);
    EXPECT_DOUBLE_EQ(agreement.allowed, 5e-8);
}

TEST(ClockAgreement, ARankOutsideItsBoundsIsWorseThanAFartherOneWithin) {
    const ClockAgreement agreement =
        judge_clocks({{{{9e-8, 5e-8}}, 5e-8}, {{{-4e-8, 1e-8}}, 2e-8}, {{{3.5e-8, 1e-8}}, 2e-8}});
    EXPECT_EQ(agreement.outside, 2);
    EXPECT_EQ(agreement.worst, 2);
    EXPECT_EQ(agreement.offset, -4e-8);
    EXPECT_EQ(describe(agreement), "at most 0.040 us off rank 0 (rank 2), outside the bounds (0.030 us)");
}

TEST(ClockAgreement, WhatIsJustAllowedIsWithin) {
    EXPECT_EQ(judge_clocks({{{{0.75, 0.25}}, 0.5}}).outside, 0);
    EXPECT_EQ(judge_clocks({{{{-0.75, 0.25}}, 0.25}}).outside, 1);
}

TEST(ClockAgreement, ARoundThatWasHeldUpDoesNotHideAClockThatIsOff) {
    // The clock is 1 us ahead. A message held up by 2 us in the second round shifts its offset to 0, with a bound of 1
    // us.
    const ClockAgreement agreement = judge_clocks({{{{1.02e-6, 5e-8}, {0.0, 1.05e-6}, {9.8e-7, 4e-8}}, 3e-8}});
    EXPECT_EQ(agreement.outside, 1);
    EXPECT_EQ(agreement.offset, 9.8e-7);
    EXPECT_DOUBLE_EQ(agreement.allowed, 7e-8);
}

TEST(ClockAgreement, ARoundThatWasHeldUpDoesNotAccuseAClockThatIsRight) {
    const ClockAgreement agreement = judge_clocks({{{{-1e-6, 1.05e-6}, {1e-8, 5e-8}, {-2e-8, 6e-8}}, 3e-8}});
    EXPECT_EQ(agreement.outside, 0);
    EXPECT_EQ(agreement.offset, 1e-8);
}

TEST(ClockAgreement, AClockThatIsExactlyRightIsNamedToo) { EXPECT_EQ(judge_clocks({{{{0.0, 0.0}}, 0.0}}).worst, 1); }

TEST(ClockAgreement, OneRankHasNobodyToAgreeWith) {
    EXPECT_EQ(judge_clocks({}).ranks, 0);
    EXPECT_EQ(describe(judge_clocks({})), "nothing to compare it with: only one rank");
}

} // namespace
} // namespace bench
