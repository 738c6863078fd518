// The schedule of a tournament, in which each node meets each other node of its group, and its size in a limited time.
// For `downbeat-bench pairs`, which measures the pairs of a round at the same time. Nodes are numbered from 0.
#pragma once

#include <vector>

namespace bench {

/// Two nodes by their numbers; `a` is below `b`.
struct Link {
    int a;
    int b;

    bool operator==(const Link &) const = default;
};

/// Consecutive nodes that hold a tournament among themselves: each node meets each other node of the group once.
struct Group {
    int first; // number of the first node
    int size;  // number of nodes
};

/// The tournaments of all groups, in the same rounds. A group of n nodes needs n - 1 rounds. If n is odd, it
/// needs n rounds, and a different node pauses in each round. Small groups pause in the last rounds.
class Groups {
public:
    /// Divides nodes into as few groups of at most `max_size` nodes as possible. Sizes differ by at most 1.
    Groups(int nodes, int max_size);

    const std::vector<Group> &list() const { return groups_; }

    /// The index of a node's group.
    int index_of(int node) const;

    /// The number of rounds of the largest group.
    int rounds() const;

    /// The node that meets `node` in a round; `idle` if `node` pauses.
    int opponent(int round, int node) const;

    /// The round in which two nodes of a group meet.
    int round_of(const Link &link) const;

    /// The disjoint links of a round, by `a`.
    std::vector<Link> links_of_round(int round) const;

private:
    int nodes_;
    std::vector<Group> groups_; // in the order of their nodes; the larger groups come first
};
constexpr int idle = -1; // in place of the number of an opponent

/// Measured costs of a round, seconds.
struct RoundCost {
    double start;    // the common start and other work that is done once per round
    double exchange; // each exchange of the round
};

/// The size of a tournament.
struct TournamentPlan {
    long exchanges; // of a pair in a round
    int passes;     // number of repetitions of the whole tournament
    long rounds;    // common starts of all passes together
};

/// The largest plan, up to `exchanges` and two passes of `rounds`, that takes no longer than `seconds`: fewer exchanges
/// first, down to `min_exchanges`, then one pass, then fewer rounds, at least one.
constexpr long min_exchanges = 5;
TournamentPlan plan_tournament(long rounds, long exchanges, const RoundCost &cost, double seconds);

} // namespace bench
