#include "experiments/algorithms_results.h"
#include "experiments/drift_results.h"
#include "experiments/list_report.h"
#include "experiments/rtt_results.h"
#include "experiments/skew_results.h"
#include "files.h"
#include "fixture.h"
#include "output/table.h"

#include <cmath>
#include <deque>
#include <gtest/gtest.h>
#include <numeric>

namespace bench {
namespace {

using SubcommandTables = Files;

Context context_of(std::size_t ranks) {
    Context context = fixture_context();
    context.ranks.assign(ranks, context.ranks.front());
    return context;
}

TEST_F(SubcommandTables, Rtt) {
    RttOptions options;
    options.pairs = {{0, 1}, {2, 0}};
    options.count = 2000;
    options.resamples = 20;
    std::vector<RttPair> pairs;
    for (const Pair &pair : options.pairs) {
        // A triangle from 1 us upwards, in steps of a clock that ticks every 16 ns.
        std::vector<double> rtt;
        for (int i = 0; i < options.count; ++i) {
            rtt.push_back(1e-6 * (pair.asker + 1) + 16e-9 * ((i % 37) + (i % 41)));
        }
        pairs.push_back(study_rtts(pair, {rtt, rtt, rtt, 0.0, 0.0}, options.resamples, 7));
    }
    expect_golden(dataset_tables(rtt_dataset(context_of(3), options, pairs)), "rtt.txt");
}

TEST_F(SubcommandTables, Drift) {
    DriftOptions options;
    options.duration = 15.0;
    options.interval = 0.5;
    options.estimator = "skampi";
    std::vector<double> started;
    std::vector<DriftPair> pairs;
    for (const Pair &pair : {Pair{0, 1}, Pair{0, 12}}) {
        started.clear();
        DriftSeries series{pair, {}, {}, {}, {}};
        for (int i = 0; i <= 30; ++i) {
            const double time = 0.5 * i;
            started.push_back(time);
            series.at.push_back(time);
            series.offset.push_back(0.25 - 8e-6 * pair.answerer * time + 1e-9 * time * time);
            series.bound.push_back(1e-7);
        }
        pairs.push_back(study_drift(series));
    }
    expect_golden(dataset_tables(drift_dataset(context_of(13), options, started, pairs)), "drift.txt");
}

/// Rank r leaves r steps of a quarter of a microsecond after rank 0, in some attempts double as late; without valid
/// attempts where there are none to be.
Skew fixture_skew(const std::string &synchronizer, std::size_t ranks, Verdict verdict) {
    SkewRecording recording;
    CellResult cell{};
    cell.cell.synchronizer = synchronizer;
    cell.requested = 8;
    cell.error_bound = 0x1p-26;
    for (int attempt = 0; attempt < 8; ++attempt) {
        recording.block.push_back(0);
        recording.verdict.push_back(verdict);
        recording.deadline.push_back(none);
        (verdict == Verdict::valid ? cell.valid : cell.late_flag) += 1;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            recording.entry.push_back(attempt);
            recording.exit.push_back(attempt + 0x1p-22 * static_cast<double>(rank) * (attempt % 4 == 3 ? 2 : 1));
        }
    }
    return study_skew(std::move(recording), cell, ranks);
}

TEST_F(SubcommandTables, Skew) {
    const std::vector<Skew> skews = {fixture_skew("linear", 13, Verdict::valid),
                                     fixture_skew("window(size=100us,growth=1)", 13, Verdict::valid),
                                     fixture_skew("harmonize", 13, Verdict::late_flag)};
    expect_golden(dataset_tables(skew_dataset(context_of(13), {}, skews)), "skew.txt");
}

TEST_F(SubcommandTables, Algorithms) {
    AlgorithmTrial own{"reduce", "default", "", "", {1, 0}, {0, 0, 12, 0}, {}, AlgorithmVerdict::in_force, {}};
    own.same_as = {"linear", "chain", "pipeline", "binary", "binomial", "knomial", "in_order_binary"};
    AlgorithmTrial refused{"reduce", "an_algorithm_of_a_long_name", "", "", {}, {}, {}, AlgorithmVerdict::refused, {}};
    refused.refusal = "MPI_Reduce: this algorithm cannot be used for the operation on this communicator";
    AlgorithmTrial other = own;
    other.operation = "bcast";
    other.calls = {};
    expect_golden(dataset_tables(algorithms_dataset(context_of(2), {}, {own, refused, other})), "algorithms.txt");
}

TEST_F(SubcommandTables, SkewsFollowFromTheExits) {
    const Skew skew = fixture_skew("linear", 3, Verdict::valid);
    const double step = 0x1p-22;
    EXPECT_DOUBLE_EQ(skew.skew.median, 2 * step);
    EXPECT_DOUBLE_EQ(skew.skew.max, 4 * step);
    EXPECT_DOUBLE_EQ(skew.exits[0].mean, 0.0);
    EXPECT_DOUBLE_EQ(skew.exits[1].mean, 1.25 * step);
    EXPECT_DOUBLE_EQ(skew.exits[2].mean, 2.5 * step);
    EXPECT_EQ(skew.histogram.counts.front(), 6U);
    EXPECT_EQ(skew.histogram.counts.back() + skew.histogram.overflow, 2U);
    EXPECT_TRUE(std::isnan(fixture_skew("linear", 3, Verdict::late_entry).exits[1].mean));
}

TEST_F(SubcommandTables, AClockThatIsNotSmallAgainstTheSkewIsWarnedOf) {
    std::vector<Skew> skews = {fixture_skew("linear", 3, Verdict::valid), fixture_skew("tree", 3, Verdict::valid)};
    EXPECT_TRUE(find_skew_warnings(skews, fixture_agreement()).empty());
    skews[1].cell.error_bound = 0x1p-23;
    const std::vector<std::string> warnings = find_skew_warnings(skews, fixture_agreement());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("up to 0.119 us, is more than 10 % of the median skew of tree (0.477 us)"),
              std::string::npos)
        << warnings[0];
}

std::vector<ListedKind> kinds() {
    ListedComponent blocking{{"reduce_scatter", "", "", {{"in_place", "no", "use MPI_IN_PLACE", {}}}}};
    blocking.call = {"reduce_scatter", "blocking", "MPI_Reduce_scatter", "of each rank's vector", ""};
    ListedComponent persistent = blocking;
    persistent.name = "reduce_scatter_init";
    persistent.parameters.push_back({"tests", "0", "calls of MPI_Test", ComponentValues::whole(0, 1e6)});
    persistent.call = {"reduce_scatter", "persistent", "MPIX_Reduce_scatter_init; MPI_Start, MPI_Wait",
                       "of each rank's vector", "this MPI library has no persistent collectives"};
    return {
        {"scheme",
         "clock synchronization schemes",
         {{{"hca3",
            "a summary so long that it does not fit on what is left of the line, and so goes on below where it began",
            "Hunold 2018",
            {{"fit", "500", "fit points", ComponentValues::whole(2, 1e6)},
             {"offset", "skampi", "estimator", ComponentValues::component("offset")}}}}}},
        {"operation", "operations", {blocking, persistent, {{"nothing", "no operation", "", {}}}}},
        {"metric", "metrics computed from each sample", {{{"makespan", "to the last exit", "", {}}}}}};
}

TEST_F(SubcommandTables, List) { expect_golden(list_table(kinds()), "list.txt"); }

/// Expected draws until n in a row brought no smaller minimum, for a distribution without ties: the k-th draw is the
/// smallest so far with probability 1 / k, whatever came before.
double expected_cost(long n) {
    // [i]: probability that the last i draws brought no smaller one and the rule has not stopped.
    std::deque<double> without = {1.0};
    double cost = 1.0;
    double alive = 1.0;
    for (long k = 2; alive > 1e-12; ++k) {
        cost += alive;
        const double smaller = 1.0 / static_cast<double>(k);
        for (double &probability : without) {
            probability *= 1.0 - smaller;
        }
        without.push_front(alive * smaller);
        if (static_cast<long>(without.size()) > n) {
            without.pop_back(); // it stops
        }
        alive = std::accumulate(without.begin(), without.end(), 0.0);
    }
    return cost;
}

TEST(StopRule, AConstantDistributionCostsOneMoreThanN) {
    const std::vector<long> ns = {1, 2, 100};
    const std::vector<double> rtts(7, 0.5);
    for (const StopRule &rule : study_stop_rule(rtts, ns, 10, 1)) {
        EXPECT_EQ(rule.cost, static_cast<double>(rule.n + 1));
        EXPECT_EQ(rule.excess, 0.0);
    }
}

TEST(StopRule, TheExpectedCostIsKnownWhereThereAreNoTies) {
    EXPECT_NEAR(expected_cost(1), std::exp(1.0), 1e-9); // sum of 1 / k!
    std::vector<double> rtts(1'000'000);
    std::iota(rtts.begin(), rtts.end(), 1.0);
    const std::vector<long> ns = {1, 2, 5, 10, 100};
    for (const StopRule &rule : study_stop_rule(rtts, ns, 10'000, 7)) {
        // The number of draws scatters about as much as it is large: 3 % are three standard errors or more.
        EXPECT_NEAR(rule.cost / expected_cost(rule.n), 1.0, 0.03) << rule.n;
    }
}

TEST(StopRule, TheExpectedQualityIsKnownForTwoValues) {
    // The smaller one is missed if the first n + 1 draws are all the larger one, which is twice as large.
    const std::vector<double> rtts = {1.0, 2.0};
    const std::vector<long> ns = {1, 2, 3, 20};
    for (const StopRule &rule : study_stop_rule(rtts, ns, 40'000, 3)) {
        const double missed = std::pow(0.5, static_cast<double>(rule.n + 1));
        EXPECT_NEAR(rule.excess, missed, 4.0 * std::sqrt(missed / 40'000)) << rule.n;
    }
}

TEST(StopRule, TheSeedDecides) {
    const std::vector<double> rtts = {1.0, 2.0, 3.0, 4.0, 5.0};
    const auto cost = [&](std::uint64_t seed) { return study_stop_rule(rtts, stop_rule_ns(), 50, seed)[3].cost; };
    EXPECT_EQ(cost(1), cost(1));
    EXPECT_NE(cost(1), cost(2));
}

} // namespace
} // namespace bench
