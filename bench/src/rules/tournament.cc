// The circle method of tournaments, their division into groups, and the plan for a limited time (tournament.h).
#include "rules/tournament.h"

#include <algorithm>
#include <cstddef>

namespace bench {
namespace {

/// The number of nodes on the circle, which is the number of rounds. An odd number of nodes is on the circle, where
/// nodes i and j meet in round i + j. With an even number, the last node is in the middle and meets the node that would
/// meet itself.
int circle(int nodes) { return nodes - 1 + nodes % 2; }

/// The node on the circle that would meet itself: node i with 2 i = round, modulo the size of the circle.
int alone_in_round(int nodes, int round) {
    const int size = circle(nodes);
    return round % 2 == 0 ? round / 2 : (round + size) / 2;
}

/// The node that meets `node` in a round of a tournament of nodes 0 to nodes - 1; `idle` if `node` pauses.
int opponent_among(int nodes, int round, int node) {
    const int size = circle(nodes);
    if (node == size) {
        return alone_in_round(nodes, round);
    }
    const int other = (round - node + size) % size;
    if (other != node) {
        return other;
    }
    return nodes % 2 == 0 ? size : idle;
}

} // namespace

Groups::Groups(int nodes, int max_size) : nodes_(nodes) {
    const int count = (nodes + max_size - 1) / max_size;
    for (int first = 0; first < nodes; first += groups_.back().size) {
        const int larger = static_cast<int>(groups_.size()) < nodes % count ? 1 : 0;
        groups_.push_back({first, nodes / count + larger});
    }
}

int Groups::index_of(int node) const {
    return static_cast<int>(std::ranges::upper_bound(groups_, node, {}, &Group::first) - groups_.begin()) - 1;
}

int Groups::rounds() const { return circle(groups_.front().size); }

int Groups::opponent(int round, int node) const {
    const auto [first, size] = groups_[static_cast<std::size_t>(index_of(node))];
    const int other = round < circle(size) ? opponent_among(size, round, node - first) : idle;
    return other == idle ? idle : first + other;
}

int Groups::round_of(const Link &link) const {
    const auto [first, size] = groups_[static_cast<std::size_t>(index_of(link.a))];
    const int a = link.a - first;
    const int b = link.b - first;
    return (b == circle(size) ? 2 * a : a + b) % circle(size); // 2 a: b, in the middle, meets a instead of a itself
}

std::vector<Link> Groups::links_of_round(int round) const {
    std::vector<Link> links;
    for (int node = 0; node < nodes_; ++node) {
        if (const int other = opponent(round, node); other > node) {
            links.push_back({node, other});
        }
    }
    return links;
}

TournamentPlan plan_tournament(long rounds, long exchanges, const RoundCost &cost, double seconds) {
    const long smallest = std::min(exchanges, min_exchanges);
    // Differences of measured times, which noise may make 0 or negative.
    const double start = std::max(cost.start, 0.0);
    const double exchange = std::max(cost.exchange, 1e-12);
    // The number of exchanges of each round if there are `starts` rounds; at most 10^9, since `exchange` may be tiny.
    const auto affordable = [&](long starts) {
        return static_cast<long>(std::min((seconds / static_cast<double>(starts) - start) / exchange, 1e9));
    };
    for (const int passes : {2, 1}) {
        if (const long affordable_exchanges = affordable(passes * rounds); affordable_exchanges >= smallest) {
            return {std::min(affordable_exchanges, exchanges), passes, passes * rounds};
        }
    }
    const double round = start + static_cast<double>(smallest) * exchange;
    return {smallest, 1, std::clamp(static_cast<long>(seconds / round), 1L, rounds)};
}

} // namespace bench
