#include "experiments/rtt_results.h"

#include <cmath>
#include <deque>
#include <gtest/gtest.h>
#include <numeric>

namespace bench {
namespace {

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
        EXPECT_EQ(rule.quality, 0.0);
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
        EXPECT_NEAR(rule.quality, missed, 4.0 * std::sqrt(missed / 40'000)) << rule.n;
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
