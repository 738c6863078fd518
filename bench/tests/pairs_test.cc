#include "experiments/pairs_results.h"
#include "files.h"
#include "fixture.h"
#include "output/table.h"
#include "rules/suspects.h"
#include "rules/tournament.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace bench {
namespace {

TEST(Tournament, EachPairOfAGroupMeetsOnceInDisjointRounds) {
    for (const auto &[nodes, max_size] : std::vector<std::pair<int, int>>{
             {2, 2}, {3, 4}, {4, 4}, {5, 5}, {7, 9}, {63, 64}, {129, 129}, {16, 8}, {9, 5}, {11, 4}, {130, 33}}) {
        SCOPED_TRACE(nodes);
        const Groups groups(nodes, max_size);
        std::set<std::pair<int, int>> met;
        for (int round = 0; round < groups.rounds(); ++round) {
            std::set<int> busy;
            for (const Link &link : groups.links_of_round(round)) {
                EXPECT_LT(link.a, link.b);
                EXPECT_EQ(groups.index_of(link.a), groups.index_of(link.b));
                EXPECT_TRUE(busy.insert(link.a).second && busy.insert(link.b).second);
                EXPECT_TRUE(met.insert({link.a, link.b}).second);
                EXPECT_EQ(groups.round_of(link), round);
                EXPECT_EQ(groups.opponent(round, link.a), link.b);
                EXPECT_EQ(groups.opponent(round, link.b), link.a);
            }
            for (int node = 0; node < nodes; ++node) {
                EXPECT_EQ(groups.opponent(round, node) == idle, !busy.contains(node));
            }
        }
        int next = 0;
        std::size_t pairs = 0;
        for (const auto &[first, size] : groups.list()) {
            EXPECT_EQ(first, next);
            EXPECT_LE(size, max_size);
            EXPECT_GE(size, groups.list().front().size - 1);
            EXPECT_EQ(groups.rounds(), groups.list().front().size - (groups.list().front().size % 2 == 0 ? 1 : 0));
            next += size;
            pairs += static_cast<std::size_t>(size) * static_cast<std::size_t>(size - 1) / 2;
        }
        EXPECT_EQ(next, nodes);
        EXPECT_EQ(groups.list().size(), static_cast<std::size_t>((nodes + max_size - 1) / max_size));
        EXPECT_EQ(met.size(), pairs);
    }
}

TEST(Tournament, FitsIntoTheTime) {
    const RoundCost cost{1e-3, 1e-4};
    const auto plan = [&](double seconds) { return plan_tournament(100, 20, cost, seconds); };
    const auto duration = [&](const TournamentPlan &chosen) {
        return static_cast<double>(chosen.rounds) *
               (cost.start + static_cast<double>(chosen.exchanges) * cost.exchange);
    };
    EXPECT_EQ(plan(1.0).exchanges, 20);
    EXPECT_EQ(plan(1.0).passes, 2);
    EXPECT_EQ(plan(0.45).exchanges, 12);
    EXPECT_EQ(plan(0.45).passes, 2);
    EXPECT_EQ(plan(0.2).passes, 1);
    EXPECT_EQ(plan(0.2).rounds, 100);
    EXPECT_EQ(plan(0.06).rounds, 40);
    EXPECT_EQ(plan(0.0).rounds, 1);
    for (const double seconds : {0.7, 0.45, 0.3, 0.2, 0.1, 0.01}) {
        EXPECT_LE(duration(plan(seconds)), seconds * (1 + 1e-9)) << seconds;
    }
}

/// A cluster whose links have classes that the suspects are not told: `leaf` nodes share a switch.
struct Cluster {
    int nodes = 64;
    int leaf = 16;
    std::function<double(int, int)> fault = [](int, int) { return 1.0; };
};

/// Two passes with the spread of links, noise and outliers of the review's simulations.
LinkTimes draw_times(const Cluster &cluster, std::mt19937_64 &random) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    LinkTimes times(Group{0, cluster.nodes});
    for (int a = 0; a < cluster.nodes; ++a) {
        for (int b = a + 1; b < cluster.nodes; ++b) {
            const double basis = (a / cluster.leaf == b / cluster.leaf ? 1.0 : 1.35) * std::exp(0.03 * normal(random)) *
                                 cluster.fault(a, b);
            for (int pass = 0; pass < 2; ++pass) {
                const double outlier = uniform(random) < 0.01 ? 2.0 + 6.0 * uniform(random) : 1.0;
                times.add({a, b}, basis * std::exp(0.01 * normal(random)) * outlier);
            }
        }
    }
    return times;
}

struct Outcome {
    int right = 0;
    int wrong = 0;
};

/// Over drawn clusters: how often the suspect is among those of the tournament, and how many others are.
Outcome count_suspects(const Cluster &cluster, int runs, int a, int b) {
    std::mt19937_64 random(3);
    Outcome outcome;
    for (int run = 0; run < runs; ++run) {
        const LinkTimes times = draw_times(cluster, random);
        for (const Suspect &suspect : Peers(times).find_suspects()) {
            (suspect.a == a && suspect.b == b ? outcome.right : outcome.wrong) += 1;
        }
    }
    return outcome;
}

constexpr int runs = 20;

TEST(Suspects, ASoundClusterHasFew) {
    EXPECT_LE(count_suspects({}, runs, whole_node, whole_node).wrong, 2 * runs); // outliers of both passes
    EXPECT_LE(count_suspects({.nodes = 5, .leaf = 5}, runs, whole_node, whole_node).wrong, 2 * runs);
}

TEST(Suspects, AFarLeafIsNone) {
    Cluster far;
    far.fault = [](int a, int b) { return (a < 16) != (b < 16) ? 1.25 : 1.0; };
    EXPECT_LE(count_suspects(far, runs, whole_node, whole_node).wrong, 2 * runs);
}

TEST(Suspects, ASlowNodeExplainsItsLinks) {
    for (const double times : {1.5, 2.0, 10.0}) {
        Cluster cluster;
        cluster.fault = [times](int a, int b) { return a == 17 || b == 17 ? times : 1.0; };
        const Outcome outcome = count_suspects(cluster, runs, 17, whole_node);
        EXPECT_EQ(outcome.right, runs) << times;
        EXPECT_LE(outcome.wrong, 2 * runs) << times;
    }
    Cluster small{.nodes = 4, .leaf = 4};
    small.fault = [](int a, int b) { return a == 2 || b == 2 ? 3.0 : 1.0; };
    EXPECT_GE(count_suspects(small, runs, 2, whole_node).right, runs - 1);
}

TEST(Suspects, ASlowLinkHasHealthyEnds) {
    for (const double times : {1.5, 2.0, 10.0}) {
        Cluster cluster;
        cluster.fault = [times](int a, int b) { return a == 3 && b == 40 ? times : 1.0; };
        EXPECT_GE(count_suspects(cluster, runs, 3, 40).right, runs - 1) << times;
    }
}

TEST(Suspects, MissingLinksAreNoEvidence) {
    std::mt19937_64 random(5);
    const LinkTimes complete = draw_times({}, random);
    LinkTimes partial(Group{0, 64});
    for (int round = 0; round < 20; ++round) {
        for (const Link &link : Groups(64, 64).links_of_round(round)) {
            partial.add(link, std::exp(complete.of(link.a, link.b)) * (link.a == 9 || link.b == 9 ? 2.0 : 1.0));
        }
    }
    const std::vector<Suspect> suspects = Peers(partial).find_suspects();
    ASSERT_FALSE(suspects.empty());
    EXPECT_EQ(suspects.front().a, 9);
    EXPECT_TRUE(suspects.front().is_node());
    EXPECT_TRUE(Peers(LinkTimes(Group{0, 64})).find_suspects().empty());
    EXPECT_TRUE(Peers(LinkTimes(Group{0, 0})).find_suspects().empty());
}

TEST(Suspects, StayWithinTheirGroup) {
    const Groups groups(130, 65);
    std::mt19937_64 random(5);
    std::vector<LinkTimes> times;
    for (const Group &group : groups.list()) {
        Cluster cluster{.nodes = group.size};
        cluster.fault = [](int a, int b) { return a == 20 || b == 20 ? 2.0 : a == 3 && b == 40 ? 3.0 : 1.0; };
        const LinkTimes drawn = draw_times(cluster, random);
        times.emplace_back(group);
        for (int round = 0; round < groups.rounds(); ++round) {
            for (const Link &link : groups.links_of_round(round)) {
                if (times.back().has(link.a)) {
                    times.back().add(link, std::exp(drawn.of(link.a - group.first, link.b - group.first)));
                }
            }
        }
    }
    std::vector<Suspect> suspects = Peers(times[0]).find_suspects();
    const std::size_t of_first = suspects.size();
    for (const Suspect &suspect : Peers(times[1]).find_suspects()) {
        EXPECT_TRUE(times[1].has(suspect.a) && (suspect.is_node() || times[1].has(suspect.b)));
        suspects.push_back(suspect);
    }
    EXPECT_EQ(suspects.front().a, 20);
    EXPECT_EQ(suspects[of_first].a, 65 + 20);
    EXPECT_TRUE(suspects[of_first + 1].a == 65 + 3 && suspects[of_first + 1].b == 65 + 40);
    std::vector<std::size_t> chosen(suspects.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    for (const bool of_nodes : {true, false}) {
        const std::vector<Look> looks = Peers(times[1]).looks(suspects, chosen, of_nodes, random);
        EXPECT_FALSE(looks.empty());
        for (const Look &look : looks) {
            EXPECT_GE(static_cast<std::size_t>(look.suspect), of_first);
            EXPECT_TRUE(times[1].has(look.link.a) && times[1].has(look.link.b));
        }
    }
}

TEST(Suspects, ManySecondLooksDoNotDisplaceASlowLinkFromFreshRounds) {
    const Group large{0, 1024};
    EXPECT_EQ(max_second_looks(Group{0, 16}), max_confirmed);
    EXPECT_EQ(max_second_looks(large), 256U);
    const std::vector<LinkTimes> groups = {LinkTimes(Group{0, 50}), LinkTimes(Group{50, 50})};
    std::vector<Suspect> suspects;
    for (int i = 0; i < 60; ++i) {
        suspects.push_back({i % 2 == 0 ? i % 40 : 50 + i % 40, i % 2 == 0 ? 49 : 99, 1.0 / (1 + i)});
    }
    EXPECT_EQ(choose_confirmed(suspects, {58, 3}, groups), (std::vector<std::size_t>{58, 3}));
    std::vector<std::size_t> chosen(suspects.size());
    std::iota(chosen.rbegin(), chosen.rend(), std::size_t{0});
    const std::vector<std::size_t> confirmed = choose_confirmed(suspects, chosen, groups);
    EXPECT_EQ(confirmed.size(), 2 * max_confirmed);
    EXPECT_EQ(*std::ranges::max_element(confirmed), 2 * max_confirmed - 1); // the slowest 24 of each group
    EXPECT_TRUE(choose_confirmed(suspects, {}, groups).empty());
}

TEST(Suspects, FreshLooksHaveTwoHealthyControlsEach) {
    for (const int nodes : {4, 5, 64}) {
        SCOPED_TRACE(nodes);
        std::mt19937_64 random(7);
        const LinkTimes times = draw_times({.nodes = nodes, .leaf = 16}, random);
        const Peers peers(times);
        const std::vector<Suspect> suspects = {{1, whole_node, 0.7}, {2, 3, 0.7}};
        for (const bool of_nodes : {true, false}) {
            const std::vector<Look> looks = peers.looks(suspects, {0, 1}, of_nodes, random);
            ASSERT_EQ(looks.size(), 3U);
            for (std::size_t i = 0; i < looks.size(); ++i) {
                const Link &link = looks[i].link;
                EXPECT_LT(link.a, link.b);
                EXPECT_EQ(looks[i].suspect, of_nodes ? 0 : 1);
                EXPECT_EQ(looks[i].role, i == 0 ? Role::suspect : Role::control);
                EXPECT_TRUE(link != (Link{2, 3}) || nodes == 4 || (!of_nodes && i == 0));
                if (of_nodes) {
                    EXPECT_EQ(link.a == 1 || link.b == 1, i == 0);
                } else if (i > 0) {
                    EXPECT_TRUE(link.a == 2 || link.b == 2 || link.a == 3 || link.b == 3);
                }
            }
        }
    }
}

TEST(Suspects, MeetRandomNodesAlsoIfAllAreSuspects) {
    constexpr int nodes = 6;
    std::mt19937_64 random(7);
    const LinkTimes times = draw_times({.nodes = nodes, .leaf = nodes}, random);
    const Peers peers(times);
    std::vector<Suspect> suspects;
    for (int node = 0; node < nodes; ++node) {
        suspects.push_back({node, whole_node, 0.7});
    }
    std::set<int> partners; // of node 0
    for (int i = 0; i < 100; ++i) {
        partners.insert(peers.looks(suspects, {0}, true, random).front().link.b);
    }
    EXPECT_EQ(partners, (std::set<int>{1, 2, 3, 4, 5}));
}

TEST(Suspects, AreSlowAgainBesideTheirControls) {
    const std::vector<Look> looks = {{{1, 2}, Role::suspect, 0}, {{0, 2}, Role::control, 0},
                                     {{2, 3}, Role::control, 0}, {{2, 3}, Role::suspect, 1},
                                     {{0, 2}, Role::control, 1}, {{1, 3}, Role::control, 1}};
    EXPECT_EQ(slow_again(looks, {1.5, 1.0, 8.0, 1.1, 1.0, 1.0}), std::vector<std::size_t>{0}); // one outlier
    EXPECT_EQ(slow_again(looks, {none, none, none, 2.0, 1.0, none}), std::vector<std::size_t>{1});
    EXPECT_TRUE(slow_again({}, {}).empty());
}

using PairsFile = Files;

TEST_F(PairsFile, HasAColumnForEachFactOfAPair) {
    PairsResults results{};
    results.records = {{0, 0, 1}, {0, 1, 0},   {3, 2, 1},          {0, 0, 3},
                       {0, 0, 1}, {-1, -1, 0}, {1e-6, 2e-6, 3e-6}, {2e-6, 2e-6, none}};
    results.ranks = {0, 1, 2, 3};
    results.checks.assign(4, {1e-3, 1e-5, 20.0, 0.01, 0.0, 1e-6, none, 1});
    results.suspects = {{0, whole_node, std::log(2.0)}, {0, 1, std::log(1.5)}};
    results.suspects_in_groups = {2};
    results.plan = {20, 2, 6};
    results.wanted = results.plan;
    results.starts = 9;
    PairsOptions options;
    options.ranks = true;
    Context context = fixture_context();
    context.ranks.assign(4, context.ranks.front());
    const Dataset data = pairs_dataset(context, options, results);
    const Format &format = find_format(path("pairs.nc"), false);
    {
        const std::unique_ptr<Sink> sink = format.make(path("pairs.nc"));
        write_dataset(*sink, context, data, {std::nullopt, find_pairs_warnings(options, results), ""});
    }
    const Reader file(path("pairs.nc"));
    EXPECT_EQ(file.numbers("round"), (std::vector<double>{0, 0, 1}));
    EXPECT_EQ(file.numbers("rank_b"), (std::vector<double>{3, 2, 1}));
    EXPECT_EQ(file.numbers("pass"), (std::vector<double>{0, 0, 3}));
    EXPECT_EQ(file.attribute("flag_meanings", "pass"), "first second second_look fresh");
    EXPECT_EQ(file.attribute("flag_meanings", "role"), "tournament suspect control");
    EXPECT_EQ(file.numbers("suspect"), (std::vector<double>{-1, -1, 0}));
    EXPECT_EQ(file.numbers("alone"), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(file.numbers("size"), (std::vector<double>{8, 8, 8}));
    EXPECT_EQ(file.numbers("seconds_ab"), (std::vector<double>{1e-6, 2e-6, 3e-6}));
    EXPECT_TRUE(std::isnan(file.numbers("seconds_ba").back()));
    EXPECT_EQ(file.texts("suspected"), (std::vector<std::string>{"0", "0 - 1"}));
    EXPECT_EQ(file.numbers("suspected_b"), (std::vector<double>{-1, 1}));
    EXPECT_EQ(file.numbers("loop_seconds").size(), 4U);
    EXPECT_EQ(file.numbers("group"), (std::vector<double>{1, 1, 1, 1}));
    EXPECT_EQ(file.numbers("suspects_in_group"), (std::vector<double>{2}));
    EXPECT_EQ(file.texts("host").size(), 4U);
    EXPECT_EQ(file.attribute("experiment"), "pairs");
    EXPECT_TRUE(find_pairs_warnings(options, results).empty());
    results.plan.exchanges = 7;
    results.ranks = {0, 1};
    results.suspects_in_groups = {30};
    EXPECT_EQ(find_pairs_warnings(options, results).size(), 3U);
}

} // namespace
} // namespace bench
