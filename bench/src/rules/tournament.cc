#include "rules/tournament.h"

#include <algorithm>

namespace bench {
namespace {

// An odd number of nodes sits on a circle, where i and j meet in round i + j. With an even number, the last node sits
// in the middle and meets the node that would meet itself.
int circle(int nodes) { return nodes - 1 + nodes % 2; }

/// The node that would meet itself.
int alone_in_round(int nodes, int round) {
    const int size = circle(nodes);
    return round % 2 == 0 ? round / 2 : (round + size) / 2;
}

} // namespace

int tournament_rounds(int nodes) { return circle(nodes); }

int opponent(int nodes, int round, int node) {
    const int size = circle(nodes);
    if (node == size) {
        return alone_in_round(nodes, round);
    }
    const int other = (round - node + size) % size;
    return other != node ? other : nodes % 2 == 0 ? size : idle;
}

int round_of(int nodes, const Link &link) {
    const int size = circle(nodes);
    return (link.b == size ? 2 * link.a : link.a + link.b) % size;
}

std::vector<Link> links_of_round(int nodes, int round) {
    std::vector<Link> links;
    for (int node = 0; node < nodes; ++node) {
        if (const int other = opponent(nodes, round, node); other > node) {
            links.push_back({node, other});
        }
    }
    return links;
}

TournamentPlan plan_tournament(long rounds, long exchanges, const RoundCost &cost, double seconds) {
    const long fewest = std::min(exchanges, fewest_exchanges);
    const double start = std::max(cost.start, 0.0);
    const double exchange = std::max(cost.exchange, 1e-12);
    const auto affordable = [&](long starts) {
        return static_cast<long>(std::min((seconds / static_cast<double>(starts) - start) / exchange, 1e9));
    };
    for (const int passes : {2, 1}) {
        if (const long most = affordable(passes * rounds); most >= fewest) {
            return {std::min(most, exchanges), passes, passes * rounds};
        }
    }
    const double round = start + static_cast<double>(fewest) * exchange;
    return {fewest, 1, std::clamp(static_cast<long>(seconds / round), 1L, rounds)};
}

} // namespace bench
