#pragma once

#include <vector>

namespace bench {

/// Two nodes by their numbers; `a` is below `b`.
struct Link {
    int a;
    int b;

    bool operator==(const Link &) const = default;
};

/// Rounds of a tournament in which each node meets each other node once (circle method): n - 1 of n / 2 links for an
/// even number of nodes, else n with one idle node each.
int tournament_rounds(int nodes);

/// The node that meets `node` in a round; `idle` if none does.
constexpr int idle = -1;
int opponent(int nodes, int round, int node);

/// The round in which two nodes meet.
int round_of(int nodes, const Link &link);

/// The disjoint links of a round, by `a`.
std::vector<Link> links_of_round(int nodes, int round);

/// Measured costs of a round, seconds.
struct RoundCost {
    double start;    // the common start, and what is done once
    double exchange; // each exchange
};

/// The size of a tournament; `rounds` counts common starts of both passes together.
struct TournamentPlan {
    long exchanges;
    int passes;
    long rounds;
};

/// The largest plan, up to `exchanges` and two passes of `rounds`, that takes no longer than `seconds`: fewer exchanges
/// first, down to `fewest_exchanges`, then one pass, then fewer rounds, at least one.
constexpr long fewest_exchanges = 5;
TournamentPlan plan_tournament(long rounds, long exchanges, const RoundCost &cost, double seconds);

} // namespace bench
