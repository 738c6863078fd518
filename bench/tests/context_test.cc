#include "fixture.h"
#include "output/context.h"
#include "rules/cell.h"

#include <gtest/gtest.h>
#include <limits>

namespace bench {
namespace {

TEST(Context, ShortensTheNamesOfMpiLibraries) {
    EXPECT_EQ(short_mpi_library("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
    EXPECT_EQ(short_mpi_library("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7"), "MPICH Version: 4.0.2");
}

TEST(Context, NamesUnknownSettings) {
    Context context;
    context.clock = {{"clock", "tsc"}};
    EXPECT_EQ(clock_setting(context, "clock"), "tsc");
    EXPECT_EQ(clock_setting(context, "sundial"), "unknown");
}

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
    EXPECT_EQ(describe_agreement(agreement), "at most 0.040 us off rank 0 (rank 2), outside the bounds (0.030 us)");
}

TEST(ClockAgreement, WhatIsJustAllowedIsWithin) {
    EXPECT_EQ(judge_clocks({{{{0.0, 0.0}}, 0.0}}).worst, 1); // one that is exactly right is named, too
    EXPECT_EQ(judge_clocks({{{{0.75, 0.25}}, 0.5}}).outside, 0);
    EXPECT_EQ(judge_clocks({{{{-0.75, 0.25}}, 0.25}}).outside, 1);
}

TEST(ClockAgreement, ARoundThatWasHeldUpDoesNotHideAClockThatIsOff) {
    // The clock is 1 us ahead. A message delayed by 2 us in the second round shifts its offset to 0, with a bound of 1
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

TEST(ClockAgreement, TheRankWhoseClockFailsMostSaysWhatToleranceItTakes) {
    const RankOffset known{{{1e-8, 2e-8}}, 2e-8, 0, 0.01, 3e-8, 1e-7, 5e-7};
    const RankOffset unknown{{{1e-8, 2e-8}}, 2e-8, 0, 0.6, 4e-7, 1e-7, 5e-7};
    const RankOffset known_by_now{{{1e-8, 2e-8}}, 2e-8, 0, 0.9, 3e-8, 1e-7, 5e-7};
    const RankOffset no_tolerance{{{1e-8, 2e-8}}, 2e-8, 0, 1.0, 3e-8, 0.0, 0.0};
    const ClockAgreement agreement = judge_clocks({known, unknown, known_by_now, no_tolerance});
    EXPECT_EQ(agreement.unsure, 0.6);
    EXPECT_EQ(agreement.sync_error, 4e-7);
    EXPECT_EQ(agreement.flag_error, 1e-7);
    EXPECT_DOUBLE_EQ(agreement.needed_tolerance, 3e-6); // four times the tolerance, and half of that again
}

TEST(ClockAgreement, OneRankHasNobodyToAgreeWith) {
    EXPECT_EQ(judge_clocks({}).ranks, 0);
    EXPECT_EQ(describe_agreement(judge_clocks({})), "nothing to compare it with: only one rank");
}

const ClockAgreement agreeing{.ranks = 1, .outside = 0, .worst = 1, .offset = 1e-8, .allowed = 2e-8};

std::vector<OthersActivity> idle() { return {{"node1", 0.01}}; }

void expect_one(const std::vector<std::string> &warnings, const std::vector<std::string> &parts) {
    ASSERT_EQ(warnings.size(), 1U);
    for (const std::string &part : parts) {
        EXPECT_NE(warnings[0].find(part), std::string::npos) << warnings[0];
    }
    EXPECT_EQ(warnings[0].find('\n'), std::string::npos);
}

TEST(Warnings, NoneOnAQuietMachine) { EXPECT_TRUE(find_warnings(fixture_context(), {}, idle(), agreeing).empty()); }

TEST(Warnings, MoreRanksThanProcessors) {
    SamplingContext context = fixture_context();
    context.hosts[0].processors = 1;
    context.ranks[1].cores = 4; // as launchers place them then
    expect_one(find_warnings(context, {}, idle(), agreeing),
               {"2 ranks share 1 processor on node1", "start at most 1 there, e.g. mpirun -n 1"});
}

TEST(Warnings, Governor) {
    SamplingContext context = fixture_context();
    context.hosts[0].governor = "powersave";
    expect_one(find_warnings(context, {}, idle(), agreeing),
               {"governor of node1 is powersave", "set the governor to performance"});
    context.hosts[0].governor = "unknown";
    EXPECT_TRUE(find_warnings(context, {}, idle(), agreeing).empty());
}

TEST(Warnings, OtherProcesses) {
    expect_one(find_warnings(fixture_context(), {}, {{"node1", 0.75}}, agreeing), {"0.8 processors of node1", "idle"});
}

TEST(Warnings, UnboundRanks) {
    SamplingContext context = fixture_context();
    context.ranks[1].cores = 4;
    expect_one(find_warnings(context, {}, idle(), agreeing), {"1 of 2 ranks are not bound to one core", "bind ranks"});
}

TEST(Warnings, ErrorBoundBesideWhatIsMeasured) {
    CellRecord record(0, fixture_cells()[1]);
    Batch batch = one_sample(0.0, {0.0, 0.0}, {4e-6, 4e-6}, {1, 1});
    batch.error_bound = 0.3e-6;
    record.add(batch, {Verdict::valid});
    EXPECT_TRUE(find_warnings(fixture_context(), {record.result(*wanting(1))}, idle(), agreeing).empty());
    batch.error_bound = 1e-6;
    record.add(batch, {Verdict::valid});
    expect_one(find_warnings(fixture_context(), {record.result(*wanting(1))}, idle(), agreeing),
               {"1.000 us", "25 % of the makespan of bcast of 8 bytes"});
}

TEST(Warnings, LatenciesThatChangeWithinBlocks) {
    const auto warnings = [](double slope, double by_chance) {
        CellResult result = CellRecord(0, fixture_cells()[1]).result(*wanting(1));
        result.slope = slope;
        result.slope_by_chance = by_chance;
        return find_warnings(fixture_context(), {result}, idle(), agreeing);
    };
    EXPECT_TRUE(warnings(none, none).empty());
    EXPECT_TRUE(warnings(-0.3, none).empty());
    EXPECT_TRUE(warnings(-0.3, 0.4).empty());
    EXPECT_TRUE(warnings(0.015, 0.001).empty());
    expect_one(warnings(-0.3, 0.01), {"1 of 1 cells", "-30 %", "bcast of 8 bytes", "discard more calls"});
    expect_one(warnings(0.03, 0.01), {"+3 %"});
}

TEST(Warnings, WarmupThatReachedItsMaximum) {
    CellRecord record(0, fixture_cells()[1]);
    for (const bool settled : {true, false, false}) {
        record.end_warmup(settled);
        record.add(one_sample(0.0, {0.0, 0.0}, {4e-6, 4e-6}, {1, 1}), {Verdict::valid});
        record.end_block(false);
    }
    const CellResult result = record.result(*wanting(1));
    EXPECT_EQ(result.unsettled, 2);
    expect_one(find_warnings(fixture_context(), {result}, idle(), agreeing),
               {"warm-up of 1 of 1 cells", "2 of 3 blocks of bcast of 8 bytes", "may still speed up", "raise max"});
}

TEST(Warnings, ClocksThatNoLongerAgree) {
    const ClockAgreement apart{.ranks = 3, .outside = 2, .worst = 3, .offset = -12.5e-6, .allowed = 0.25e-6};
    expect_one(find_warnings(fixture_context(), {}, idle(), apart),
               {"rank 3 was 12.500 us off rank 0", "allow 0.250 us", "2 of 3 ranks", "DOWNBEAT_MAX_SKEW"});
}

TEST(Warnings, OthersKeepNoMoreProcessorsBusyThanThereAre) {
    EXPECT_EQ(busy_processors(3.0, 2.0, 4.0), 1.5);
    EXPECT_EQ(busy_processors(141.7, 1.0, 2.0), 2.0);
    EXPECT_EQ(busy_processors(-0.01, 1.0, 2.0), 0.0); // ticks were counted for the ranks
    EXPECT_FALSE(busy_processors(0.02, 1e-3, 2.0));   // two ticks are 20 processors' worth of a millisecond
    EXPECT_FALSE(busy_processors(std::numeric_limits<double>::quiet_NaN(), 1.0, 2.0));
}

constexpr double tolerance = 0.5;

Verdict verdict(double deadline, std::vector<double> entry, std::vector<std::uint8_t> flag) {
    const Batch batch = one_sample(deadline, entry, entry, std::move(flag));
    return judge(batch[0], {.late = tolerance});
}

TEST(Validity, EveryRankMustBeInTimeWithAFlagOf1) {
    EXPECT_EQ(verdict(10.0, {10.0, 10.25}, {1, 1}), Verdict::valid);
    EXPECT_EQ(verdict(10.0, {10.0, 10.5}, {1, 1}), Verdict::valid); // the tolerance itself
    EXPECT_EQ(verdict(10.0, {10.0, 10.75}, {1, 1}), Verdict::late_entry);
    EXPECT_EQ(verdict(10.0, {10.0, 10.0}, {1, 0}), Verdict::late_flag);
    EXPECT_EQ(verdict(10.0, {10.0, 99.0}, {0, 1}), Verdict::late_flag); // the flag comes first
    EXPECT_EQ(verdict(none, {10.0, 99.0}, {1, 1}), Verdict::valid);     // without a deadline the flags decide
    EXPECT_EQ(verdict(none, {10.0, 99.0}, {1, 0}), Verdict::late_flag);
}

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

TEST(Validity, ARanksStartIsItsOwn) {
    Batch batch = one_sample(10.0, {10.0, 13.25}, {15.0, 15.0}, {1, 1});
    batch.delay = {0.0, 3.0};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::valid);
    batch.delay = {0.0, 2.5};
    EXPECT_EQ(judge(batch[0], {.late = tolerance}), Verdict::late_entry);
}

// Four ranks; one enters 2 late, one 5.
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

TEST(Validity, FlagsAloneDecideWhereNoStartIsTooLate) {
    const StartLimits flags = {.late = std::numeric_limits<double>::infinity()};
    EXPECT_EQ(judge(late_starts({1, 1, 1, 1})[0], flags), Verdict::valid);
    EXPECT_EQ(judge(late_starts({0, 1, 1, 1})[0], flags), Verdict::late_flag);
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
    EXPECT_EQ(StartLimits{.late_ranks = 0.001}.max_failed(999), 0);
    EXPECT_EQ(StartLimits{.late_ranks = 0.29}.max_failed(100), 29);
    EXPECT_EQ(StartLimits{.late_ranks = 1.0}.max_failed(4), 4);
}

// Barriers promise no time: what counts as late there is what the synchronizer says.
TEST(Validity, WithoutADeadlineLimitsOfTimeSayNothing) {
    const Batch batch = one_sample(none, {10.0, 99.0}, {10.0, 99.0}, {1, 0});
    EXPECT_EQ(judge(batch[0], {.late = 1e3, .flags_count = false}), Verdict::late_flag);
    EXPECT_EQ(judge(batch[0], {.late = 1e3, .flags_count = false, .late_ranks = 0.5}), Verdict::valid);
}

} // namespace
} // namespace bench
