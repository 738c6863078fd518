#include "cells/validity.h"

#include "samples.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

constexpr double tolerance = 0.5;

Verdict verdict(double deadline, std::vector<double> entry, std::vector<std::uint8_t> flag) {
    const Batch batch = one_sample(deadline, entry, entry, std::move(flag));
    return judge(batch[0], tolerance);
}

TEST(Validity, InTimeOnAllRanks) { EXPECT_EQ(verdict(10.0, {10.0, 10.25}, {1, 1}), Verdict::valid); }

TEST(Validity, TheToleranceItselfIsInTime) { EXPECT_EQ(verdict(10.0, {10.0, 10.5}, {1, 1}), Verdict::valid); }

TEST(Validity, OneLateEntryIsEnough) { EXPECT_EQ(verdict(10.0, {10.0, 10.75}, {1, 1}), Verdict::late_entry); }

TEST(Validity, WhatMustEndEndsInTime) {
    Batch batch = one_sample(10.0, {10.0, 10.0}, {11.0, 12.0}, {1, 1});
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::valid); // however long it took
    batch.end = {12.0};
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::valid);
    batch.end = {11.75};
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::overrun);
    batch.flag = {1, 0};
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::late_flag);
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
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::valid);
    batch.delay = {0.0, 2.5};
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::late_entry);
}

TEST(Validity, ASlowOperationIsNoReason) {
    const Batch batch = one_sample(10.0, {10.0, 10.0}, {1e6, 1e6}, {1, 1});
    EXPECT_EQ(judge(batch[0], tolerance), Verdict::valid);
}

} // namespace
} // namespace bench
