#include "rules/arrival_pattern.h"

#include "expect_usage_error.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace bench {
namespace {

std::shared_ptr<const ArrivalPattern> make_pattern(const std::string &text, int ranks, const std::string &file = "",
                                                   std::uint64_t seed = 1, std::vector<int> nodes = {}) {
    const Component component = parse_component("arrival pattern", text, all_patterns());
    nodes.resize(static_cast<std::size_t>(ranks), 0);
    const std::function<std::string(const std::string &)> read = [&](const std::string &) { return file; };
    return find_by_name(all_patterns(), component.name()).make({component, ranks, nodes, seed, read});
}

std::vector<double> shares(const ArrivalPattern &pattern, int ranks, long call = 0) {
    std::vector<double> all;
    for (int place = 0; place < ranks; ++place) {
        all.push_back(pattern.share(place, call));
    }
    return all;
}

std::vector<double> shares(const std::string &text, int ranks) { return shares(*make_pattern(text, ranks), ranks); }

using Shares = std::vector<double>;

TEST(ArrivalPattern, FixedOnesAreWhatTheirNamesSay) {
    EXPECT_EQ(shares("none", 3), (Shares{0, 0, 0}));
    EXPECT_EQ(shares("one_late", 3), (Shares{1, 0, 0}));
    EXPECT_EQ(shares("one_late(rank=2)", 3), (Shares{0, 0, 1}));
    EXPECT_EQ(shares("one_early(rank=1)", 3), (Shares{1, 0, 1}));
    EXPECT_EQ(shares("ascending", 5), (Shares{0, 0.25, 0.5, 0.75, 1}));
    EXPECT_EQ(shares("descending", 5), (Shares{1, 0.75, 0.5, 0.25, 0}));
    EXPECT_EQ(shares("half_late", 5), (Shares{0, 0, 0, 1, 1}));
    EXPECT_EQ(shares("half_late(layout=alternating)", 5), (Shares{0, 1, 0, 1, 0}));
    const auto steps = make_pattern("node_steps", 6, "", 1, {0, 0, 1, 1, 2, 2});
    EXPECT_EQ(shares(*steps, 6), (Shares{0, 0, 0.5, 0.5, 1, 1}));
}

TEST(ArrivalPattern, BellIsANormalDensityFromEndToEnd) {
    const double end = std::exp(-4.5);
    const double quarter = (std::exp(-0.5 * 1.5 * 1.5) - end) / (1 - end);
    const Shares bell = shares("bell", 5);
    const Shares expected = {0, quarter, 1, quarter, 0};
    const Shares inverse = shares("inverse_bell", 5);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(bell[i], expected[i], 1e-12) << i;
        EXPECT_NEAR(inverse[i], 1 - expected[i], 1e-12) << i;
    }
    const Shares even = shares("bell", 4);
    EXPECT_DOUBLE_EQ(*std::max_element(even.begin(), even.end()), 1.0);
}

TEST(ArrivalPattern, AllReachTheLargestDelayAndNoneExceedsIt) {
    for (const PatternInfo &info : all_patterns()) {
        if (info.name == "none" || info.name == "trace") {
            continue;
        }
        const auto pattern = make_pattern(info.name, 8, "", 1, {0, 0, 0, 0, 1, 1, 1, 1});
        double largest = 0.0;
        for (long call = 0; call < 2000; ++call) {
            for (const double share : shares(*pattern, 8, call)) {
                EXPECT_GE(share, 0.0) << info.name;
                EXPECT_LE(share, 1.0) << info.name;
                largest = std::max(largest, share);
            }
        }
        EXPECT_GT(largest, 0.97) << info.name;
    }
}

/// Mean and deviation of many draws.
void expect_moments(const std::string &text, double mean, double deviation) {
    const auto pattern = make_pattern(text, 4);
    double sum = 0.0;
    double squares = 0.0;
    constexpr int calls = 25000;
    for (int call = 0; call < calls; ++call) {
        for (const double share : shares(*pattern, 4, call)) {
            sum += share;
            squares += share * share;
        }
    }
    const double found = sum / (4 * calls);
    EXPECT_NEAR(found, mean, 0.004) << text;
    EXPECT_NEAR(std::sqrt(squares / (4 * calls) - found * found), deviation, 0.004) << text;
}

TEST(ArrivalPattern, RandomOnesHaveTheirDistributions) {
    expect_moments("uniform", 0.5, std::sqrt(1.0 / 12.0));
    expect_moments("normal(deviation=0.1)", 0.5, 0.1);
    // An exponential density of mean m that is cut at 1 has mean m - e / (1 - e), with e = exp(-1/m).
    const double m = 0.2;
    const double e = std::exp(-1 / m);
    const double mean = m - e / (1 - e);
    const double square = 2 * m * m - e * (1 + 2 * m) / (1 - e);
    expect_moments("exponential", mean, std::sqrt(square - mean * mean));
}

TEST(ArrivalPattern, RandomOnesAreDrawnAnewAsOftenAsAskedFor) {
    const auto each = make_pattern("uniform", 4);
    EXPECT_NE(shares(*each, 4, 0), shares(*each, 4, 1));
    const auto third = make_pattern("uniform(calls=3)", 4);
    EXPECT_EQ(shares(*third, 4, 0), shares(*third, 4, 2));
    EXPECT_NE(shares(*third, 4, 2), shares(*third, 4, 3));
    const auto once = make_pattern("uniform(calls=0)", 4);
    EXPECT_EQ(shares(*once, 4, 0), shares(*once, 4, 12345));
    EXPECT_EQ(shares(*once, 4, 0), shares(*each, 4, 0));
    EXPECT_NE(shares(*once, 4, 0), shares(*make_pattern("uniform(calls=0)", 4, "", 2), 4, 0));
}

TEST(ArrivalPattern, TraceReplaysItsFile) {
    const auto pattern = make_pattern("trace(file=x)", 2, "# s\n0 1e-5\n\n 2e-05,5e-6 # late\n");
    EXPECT_DOUBLE_EQ(*pattern->recorded_delay(), 2e-5);
    EXPECT_EQ(shares(*pattern, 2, 0), (Shares{0, 0.5}));
    EXPECT_EQ(shares(*pattern, 2, 1), (Shares{1, 0.25}));
    EXPECT_EQ(shares(*pattern, 2, 2), (Shares{0, 0.5}));
    EXPECT_EQ(shares(*pattern, 2, -1), (Shares{1, 0.25})); // warm-up
}

TEST(ArrivalPattern, WhatDoesNotFitIsRefused) {
    expect_usage_error([] { make_pattern("one_late(rank=3)", 3); }, {"one_late(rank=3)", "0 to 2"});
    expect_usage_error([] { make_pattern("one_early(rank=3)", 3); }, {"one_early(rank=3)", "0 to 2"});
    expect_usage_error([] { make_pattern("bell", 2); }, {"bell", "at least 3 ranks"});
    expect_usage_error([] { make_pattern("inverse_bell", 2); }, {"inverse_bell", "at least 3 ranks"});
    expect_usage_error([] { make_pattern("node_steps", 2); }, {"node_steps", "at least 2 nodes"});
    expect_usage_error([] { make_pattern("trace", 2); }, {"parameter file is required"});
    const auto trace = [](const std::string &file) { make_pattern("trace(file=x.txt)", 2, file); };
    expect_usage_error([&] { trace("0 1e-5\n1e-5"); }, {"'x.txt', line 2", "1 delays for 2 ranks"});
    expect_usage_error([&] { trace("0 late"); }, {"'x.txt', line 1", "'late' is not a delay"});
    expect_usage_error([&] { trace("0 -1"); }, {"'-1' is not a delay"});
    expect_usage_error([&] { trace("0 nan"); }, {"'nan' is not a delay"});
    expect_usage_error([&] { trace("0 0\n"); }, {"no delay above 0"});
    expect_usage_error([&] { trace("# nothing\n"); }, {"no delay above 0"});
}

TEST(PlannedDelays, AreSharesOfTheLargest) {
    const auto pattern = make_pattern("one_late(rank=1)", 3);
    EXPECT_EQ(PlannedDelays(pattern, 2.0, 1).of_calls(0, 2), (std::vector<double>{2.0, 2.0}));
    EXPECT_EQ(PlannedDelays(pattern, 2.0, 0).of_calls(5, 1), (std::vector<double>{0.0}));
    const auto trace = make_pattern("trace(file=x)", 1, "1\n2\n4\n");
    EXPECT_EQ(PlannedDelays(trace, 8.0, 0).of_calls(1, 4), (std::vector<double>{4.0, 8.0, 2.0, 4.0}));
}

TEST(PlannedDelays, PlacesArePermutedByTheSeed) {
    const std::vector<int> places = permuted_positions(64, 7);
    EXPECT_EQ(places, permuted_positions(64, 7));
    EXPECT_NE(places, permuted_positions(64, 8));
    std::vector<int> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> all(64);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
    EXPECT_NE(places, all);
}

} // namespace
} // namespace bench
