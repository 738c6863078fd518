#include "experiments/clock_results.h"
#include "files.h"
#include "fixture.h"
#include "output/table.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace bench {
namespace {

TEST(Clock, SummarizesOverRanksThenRepetitions) {
    const ClockSummary summary = summarize_clocks(clock_fixture());
    EXPECT_EQ(summary.deciding, 1U); // 4 s is nearest to 5 s
    EXPECT_DOUBLE_EQ(summary.barrier, 2e-6);

    const SchemeSummary &slow = summary.schemes[0];
    EXPECT_DOUBLE_EQ(slow.duration, 1.5);
    EXPECT_DOUBLE_EQ(slow.messages, 200);
    const WaitSummary &later = slow.waits[1];
    EXPECT_DOUBLE_EQ(later.offset, 3e-7); // of the checked rank: 2e-7 and 4e-7
    EXPECT_DOUBLE_EQ(later.error, 3e-7);  // largest over ranks: 2e-7 and 4e-7
    EXPECT_DOUBLE_EQ(later.bias, 0.5e-7); // -4e-7, -1e-7, 2e-7, 3e-7
    EXPECT_DOUBLE_EQ(later.bound, 4e-7);
    EXPECT_EQ(later.outside, 0.0); // an error that is as large as its bound is not outside
    EXPECT_EQ(later.wait_last, 4.25);

    EXPECT_DOUBLE_EQ(slow.first_duration, 1.5);
    EXPECT_DOUBLE_EQ(slow.first_waits[1].error, 3e-7); // the first synchronization is not a repetition
    EXPECT_DOUBLE_EQ(summary.schemes[1].first_waits[1].error, 3e-5);

    const WaitSummary &quick = summary.schemes[1].waits[1];
    EXPECT_DOUBLE_EQ(quick.error, 1e-5);
    EXPECT_DOUBLE_EQ(quick.outside, 0.25); // 11e-6 of four, with a bound of 10e-6
}

TEST(Clock, WithoutTruthTheMeasuredOffsetDecides) {
    ClockResults results = clock_fixture();
    results.truth = false;
    const ClockSummary summary = summarize_clocks(results);
    EXPECT_TRUE(std::isnan(summary.schemes[0].waits[1].error));
    EXPECT_TRUE(std::isnan(summary.schemes[0].waits[1].bias));
    EXPECT_TRUE(std::isnan(summary.schemes[0].waits[1].outside));
    EXPECT_TRUE(summary.schemes[0].on_front);
    EXPECT_TRUE(summary.schemes[1].on_front);
    EXPECT_FALSE(summary.schemes[2].on_front); // as far off as quick, and takes longer
}

TEST(Clock, TheParetoFrontHoldsWhatNobodyBeats) {
    EXPECT_EQ(pareto_front({{1, 9}, {2, 5}, {3, 6}, {4, 1}, {5, 1}}),
              (std::vector<bool>{true, true, false, true, false}));
    EXPECT_EQ(pareto_front({{1, 1}, {1, 1}}), (std::vector<bool>{true, true})); // equals do not beat each other
    EXPECT_EQ(pareto_front({{1, none}, {2, 2}, {none, 0}}), (std::vector<bool>{false, true, false}));
    EXPECT_TRUE(pareto_front({}).empty());
}

TEST(Clock, SamplesAreDrawnFromTheUpperHalf) {
    EXPECT_EQ(upper_half(2), 1);
    EXPECT_EQ(upper_half(3), 2);
    EXPECT_EQ(upper_half(8), 4);
    EXPECT_EQ(draw_sample(2, 1, 5), std::vector<int>{1});
    EXPECT_EQ(draw_sample(8, 4, 5), (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(draw_sample(1000, 10, 5), draw_sample(1000, 10, 5));
    EXPECT_NE(draw_sample(1000, 10, 5), draw_sample(1000, 10, 6));
    const std::vector<int> sample = draw_sample(1000, 10, 5);
    EXPECT_EQ(sample.size(), 10U);
    EXPECT_GE(sample.front(), 500);
    EXPECT_LT(sample.back(), 1000);
    for (std::size_t i = 1; i < sample.size(); ++i) {
        EXPECT_LT(sample[i - 1], sample[i]);
    }
}

TEST(Clock, EventsComeByDueTime) {
    DueEvents events;
    events.add(3.0, 30);
    events.add(1.0, 10);
    events.add(2.0, 20);
    EXPECT_EQ(events.next_due(), 1.0);
    EXPECT_EQ(events.take_first(), 10U);
    events.add(2.5, 25);
    EXPECT_EQ(events.take_first(), 20U);
    EXPECT_EQ(events.take_first(), 25U);
    EXPECT_EQ(events.take_first(), 30U);
    EXPECT_TRUE(events.empty());
}

std::vector<std::string> warnings_of(const ClockResults &results) {
    return find_clock_warnings(results, summarize_clocks(results));
}

TEST(Clock, WarnsOfBoundsThatDoNotHold) {
    const std::vector<std::string> warnings = warnings_of(clock_fixture());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].find("25.0 % of the true errors of quick after 4 s exceed the bound"), 0U) << warnings[0];
}

TEST(Clock, WarnsOfASharedClock) {
    ClockResults results = clock_fixture();
    results.clock_domains = 1;
    EXPECT_EQ(warnings_of(results)[0], shared_clock_warning);
}

TEST(Clock, WarnsOfLateLooks) {
    ClockResults results = clock_fixture();
    results.runs[0][1].events[1].achieved_wait = 4.5;
    const std::vector<std::string> warnings = warnings_of(results);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_NE(warnings[1].find("planned 4 s after a synchronization began up to 0.500 s late"), std::string::npos);
}

using ClockTables = Files;

std::string tables(const ClockResults &results) {
    Context context = fixture_context();
    context.ranks.assign(3, context.ranks.front());
    return clock_head(context, results) + dataset_tables(clock_dataset(context, results, summarize_clocks(results)));
}

TEST_F(ClockTables, UnderTheValidationClock) { expect_golden(tables(clock_fixture()), "clock_truth.txt"); }

TEST_F(ClockTables, WithoutTruthHaveNoNumberOfIt) {
    ClockResults results = clock_fixture();
    results.truth = false;
    expect_golden(tables(results), "clock_measured.txt");
}

TEST_F(ClockTables, NameTheWorstPath) {
    ClockResults results = clock_fixture();
    results.edges = {{}, {{{2, 0, 1e-8}, {2, 1, -3e-7}}, 5e-8}, {}};
    expect_golden(tables(results), "clock_paths.txt");
}

} // namespace
} // namespace bench
