#pragma once

#include "rules/tournament.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace bench {

/// The logarithm of the time of each link, both directions together, in which errors of clocks cancel.
class LinkTimes {
public:
    explicit LinkTimes(int nodes);

    int nodes() const { return nodes_; }

    /// NaN for a link that was not measured.
    double of(int a, int b) const { return logs_[index(a, b)]; }

    /// Keeps the smaller of several times in seconds; NaN changes nothing.
    void add(const Link &link, double seconds);

private:
    std::size_t index(int a, int b) const {
        return static_cast<std::size_t>(a) * static_cast<std::size_t>(nodes_) + static_cast<std::size_t>(b);
    }

    int nodes_;
    std::vector<double> logs_; // [a][b] and [b][a]
};

/// A node, or a link, that is slower than its peers.
struct Suspect {
    int a;
    int b;        // `whole_node` for a node
    double score; // logarithm of the ratio to its peers

    bool is_node() const { return b < 0; }
};
constexpr int whole_node = -1;

/// Fewer nodes have no peers: a slow node cannot be told from a slow link.
constexpr int fewest_nodes = 4;

/// A smaller ratio to the peers is no fault.
constexpr double least_ratio = 1.2;

/// Further suspects are not confirmed: a machine with more than these is not steady.
constexpr std::size_t most_suspects = 24;

/// Whether a link is measured again as a suspect, or beside one.
enum class Role { tournament, suspect, control };

/// A link that is to be measured again, in the round of the tournament in which it was measured before.
struct Look {
    Link link;
    Role role;
    int suspect; // index
};

/// The peers of nodes, found in the times, and the suspects by them.
class Peers {
public:
    /// The nearest neighbors of each node are those with the fastest links to it.
    explicit Peers(const LinkTimes &times);

    /// Nearest first, six at most.
    const std::vector<int> &neighbors(int node) const { return neighbors_[static_cast<std::size_t>(node)]; }

    /// Slowest first, nodes before links; links to a suspect node do not count. Suspect: beyond the quantile of
    /// Bonferroni at 1 % of a normal distribution with the median and the median absolute deviation of the scores, and
    /// beyond `least_ratio`; among fewer than 16 scores, 1.5 times the peers is enough.
    std::vector<Suspect> find_suspects() const;

    /// Of the suspects with these indices that are nodes, or of those that are links, in turn: the suspect's link, and
    /// two control links, from an end of it to a neighbor of the other end. A node meets another node that is drawn.
    std::vector<Look> looks(const std::vector<Suspect> &suspects, const std::vector<std::size_t> &chosen, bool nodes,
                            std::mt19937_64 &random) const;

private:
    double score(int node) const;
    double score(const Link &link) const;
    std::vector<int> controls_of(const std::vector<Suspect> &suspects, int node, int other) const;
    int draw_partner(const std::vector<Suspect> &suspects, int node, std::mt19937_64 &random) const;

    const LinkTimes &times_;
    std::vector<std::vector<int>> neighbors_;
    std::vector<double> medians_; // of the links of each node
};

/// The suspects of `looks` that were slow again, by the seconds of each look: beyond `least_ratio` times the quicker of
/// its controls.
std::vector<std::size_t> slow_again(const std::vector<Look> &looks, const std::vector<double> &seconds);

} // namespace bench
