#include "context/warnings.h"

#include "fixture.h"

#include <gtest/gtest.h>
#include <limits>

namespace bench {
namespace {

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

TEST(Warnings, OneRank) {
    SamplingContext context = fixture_context();
    context.ranks.resize(1);
    expect_one(find_warnings(context, {}, idle(), agreeing), {"only one rank", "mpirun -n 2"});
}

TEST(Warnings, ErrorBoundBesideWhatIsMeasured) {
    CellRecord record(0, fixture_cells()[1]);
    Batch batch = one_sample(0.0, {0.0, 0.0}, {4e-6, 4e-6}, {1, 1});
    batch.error_bound = 0.3e-6;
    record.add(batch, {Verdict::valid});
    EXPECT_TRUE(find_warnings(fixture_context(), {record.summarize(*wanting(1))}, idle(), agreeing).empty());
    batch.error_bound = 1e-6;
    record.add(batch, {Verdict::valid});
    expect_one(find_warnings(fixture_context(), {record.summarize(*wanting(1))}, idle(), agreeing),
               {"1.000 us", "25 % of the makespan of bcast of 8 bytes"});
}

TEST(Warnings, TwoStatesOfTheMachine) {
    const auto result = [](double before, double after) {
        CellRecord record(0, fixture_cells()[0]);
        record.add_canary(before, after);
        return record.summarize(*wanting(1));
    };
    const auto warnings = [](const std::vector<CellResult> &results) {
        return find_warnings(fixture_context(), results, idle(), agreeing);
    };
    const CellResult fast = result(77e-9, 80e-9);
    EXPECT_TRUE(warnings({fast, result(115e-9, none), result(none, none)}).empty());
    expect_one(warnings({fast, result(350e-9, 355e-9)}),
               {"two states of the machine (cache line 77 and 355 ns)", "0 of 2"});
    expect_one(warnings({fast, result(80e-9, 355e-9)}), {"1 of 2 cells have samples of both"});
    SamplingContext apart = fixture_context();
    apart.hosts = {apart.hosts[0], apart.hosts[0]};
    apart.hosts[0].ranks = apart.hosts[1].ranks = 1;
    expect_one(find_warnings(apart, {result(2e-6, 4e-6)}, idle(), agreeing), {"shortest message 2000 and 4000 ns"});
}

TEST(Warnings, LatenciesThatChangeWithinBlocks) {
    const auto warnings = [](double slope, double by_chance) {
        CellResult result = CellRecord(0, fixture_cells()[1]).summarize(*wanting(1));
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
    const CellResult result = record.summarize(*wanting(1));
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

} // namespace
} // namespace bench
