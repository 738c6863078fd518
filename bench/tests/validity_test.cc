#include "cells/validity.h"

#include "samples.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

constexpr double tolerance = 0.5;

Verdict verdict(double deadline, std::vector<double> entry, std::vector<std::uint8_t> flag) {
    const Batch batch = one_sample(deadline, entry, entry, std::move(flag));
    return judge(batch[0], {.late = tolerance});
}

TEST(Validity, InTimeOnAllRanks) { EXPECT_EQ(verdict(10.0, {10.0, 10.25}, {1, 1}), Verdict::valid); }

TEST(Validity, TheToleranceItselfIsInTime) { EXPECT_EQ(verdict(10.0, {10.0, 10.5}, {1, 1}), Verdict::valid); }

TEST(Validity, OneLateEntryIsEnough) { EXPECT_EQ(verdict(10.0, {10.0, 10.75}, {1, 1}), Verdict::late_entry); }

TEST(Validity, WhatMustEndEndsInTime) {
    Batch batch = one_sample(10.0, {10.0, 10.0}, {11.0, 12.0}, {1, 1});
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::valid); // however long it took
    batch.end = {12.0};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::valid);
    batch.end = {11.75};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::overrun);
    batch.flag = {1, 0};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::late_flag);
}

TEST(Validity, OneFlagIsEnough) { EXPECT_EQ(verdict(10.0, {10.0, 10.0}, {1, 0}), Verdict::late_flag); }

TEST(Validity, TheFlagComesFirst) { EXPECT_EQ(verdict(10.0, {10.0, 99.0}, {0, 1}), Verdict::late_flag); }

TEST(Validity, WithoutADeadlineTheFlagsDecide) {
    EXPECT_EQ(verdict(none, {10.0, 99.0}, {1, 1}), Verdict::valid);
    EXPECT_EQ(verdict(none, {10.0, 99.0}, {1, 0}), Verdict::late_flag);
}

TEST(Validity, ARanksStartIsItsOwn) {
    Batch batch = one_sample(10.0, {10.0, 13.25}, {15.0, 15.0}, {1, 1});
    batch.delay = {0.0, 3.0};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::valid);
    batch.delay = {0.0, 2.5};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::late_entry);
}

TEST(Validity, ASlowOperationIsNoReason) {
    const Batch batch = one_sample(10.0, {10.0, 10.0}, {1e6, 1e6}, {1, 1});
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::valid);
}

// Of four ranks, one enters 2 late and one 5.
Batch late_starts(std::vector<std::uint8_t> flag) {
    const std::vector<double> entry = {10.0, 12.0, 10.0, 15.0};
    return one_sample(10.0, entry, entry, std::move(flag));
}

TEST(Validity, ALimitOfItsOwnTakesThePlaceOfToleranceAndFlags) {
    const Batch batch = late_starts({1, 0, 0, 0});
    EXPECT_EQ(judge(batch[0], {.late = 5.0, .flags_count = false}), Verdict::valid);
    EXPECT_EQ(judge(batch[0], {.late = 4.75, .flags_count = false}), Verdict::late_flag);
    EXPECT_EQ(judge(batch[0], {.late = 5.0}), Verdict::late_flag);
    EXPECT_EQ(judge(late_starts({1, 1, 1, 1})[0], {.late = 4.75, .flags_count = false}), Verdict::late_entry);
}

TEST(Validity, ARankThatDoesNotKnowItsClockFailsAnyLimit) {
    Batch batch = late_starts({1, 1, 0, 1});
    batch.unsure = {0, 0, 1, 0};
    EXPECT_EQ(judge(batch[0], {.late = 5.0, .flags_count = false}), Verdict::late_flag);
    EXPECT_EQ(judge(batch[0], {.late = 5.0, .flags_count = false, .late_ranks = 0.25}), Verdict::valid);
}

TEST(Validity, SoManyRanksMayBeLate) {
    const Batch batch = late_starts({1, 0, 1, 1});
    EXPECT_EQ(judge(batch[0], {.late = tolerance, .late_ranks = 0.5}), Verdict::valid);
    EXPECT_EQ(judge(batch[0], {.late = tolerance, .late_ranks = 0.49}), Verdict::late_flag);
    EXPECT_EQ(judge(batch[0], {.late = 2.0, .flags_count = false, .late_ranks = 0.25}), Verdict::valid);
    EXPECT_EQ(judge(batch[0], {.late = 1.75, .flags_count = false, .late_ranks = 0.25}), Verdict::late_flag);
    EXPECT_EQ(judge(late_starts({1, 1, 1, 0})[0], {.late = 9.0, .late_ranks = 0.25}), Verdict::valid); // a flag is one
}

TEST(Validity, AShareOfRanksIsRoundedDown) {
    EXPECT_EQ(StartLimits{.late_ranks = 0.001}.late_of(999), 0);
    EXPECT_EQ(StartLimits{.late_ranks = 0.29}.late_of(100), 29);
    EXPECT_EQ(StartLimits{.late_ranks = 1.0}.late_of(4), 4);
}

// Barriers promise no time: what counts as late there is what the synchronizer says.
TEST(Validity, WithoutADeadlineLimitsOfTimeSayNothing) {
    const Batch batch = one_sample(none, {10.0, 99.0}, {10.0, 99.0}, {1, 0});
    EXPECT_EQ(judge(batch[0], {.late = 1e3, .flags_count = false}), Verdict::late_flag);
    EXPECT_EQ(judge(batch[0], {.late = 1e3, .flags_count = false, .late_ranks = 0.5}), Verdict::valid);
}

} // namespace
} // namespace bench
