// Suspects: nodes and links that seem slow in both passes of the tournament of a group (tournament.h), and the further
// looks at them. `downbeat-bench pairs` measures each suspect again, together with controls, which are links of its
// peers: once (the second look), and if it is slow again in several fresh rounds, by which `downbeat locate` decides.
// The peers of a node are its nearest nodes by the measured times.
#pragma once

#include "rules/tournament.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <ranges>
#include <vector>

namespace bench {

/// The logarithms of the times of all links of a group. A time is the sum of both directions, in which errors of clocks
/// cancel.
class LinkTimes {
public:
    explicit LinkTimes(const Group &group);

    /// The numbers of the group's nodes.
    auto nodes() const { return std::views::iota(first_, first_ + size_); }
    bool has(int node) const { return node >= first_ && node < first_ + size_; }

    /// The logarithm of the time of a link; NaN if the link was not measured.
    double of(int a, int b) const { return logs_[index(a, b)]; }

    /// Adds a time of a link, in seconds. The smallest time of a link counts; NaN changes nothing.
    void add(const Link &link, double seconds);

private:
    std::size_t index(int a, int b) const {
        return static_cast<std::size_t>(a - first_) * static_cast<std::size_t>(size_) +
               static_cast<std::size_t>(b - first_);
    }

    int first_;
    int size_;
    std::vector<double> logs_; // [a][b] and [b][a]
};

/// In place of the second node of a link: the suspect is a node.
constexpr int whole_node = -1;

/// A node, or a link, that is slower than its peers.
struct Suspect {
    int a;        // the node, or the lower node of the link
    int b;        // the higher node of the link; `whole_node` for a node
    double score; // logarithm of the ratio to its peers

    bool is_node() const { return b == whole_node; }
};

/// The smallest number of nodes of a group in which nodes have peers. With fewer nodes, a slow node cannot be told from
/// a slow link.
constexpr int min_nodes = 4;

/// The smallest ratio of a time to the time of the peers that makes a suspect.
constexpr double min_ratio = 1.2;

/// The number of suspects of a group that have fresh rounds.
constexpr std::size_t max_confirmed = 24;

/// The number of suspects of a group that have a second look. Among 1,000 nodes, a large value in both passes makes
/// tens of links suspects, which are not slow again; they must not displace a slow link.
std::size_t max_second_looks(const Group &group);

/// The purpose of a measurement of a link.
enum class Role { tournament, suspect, control };

/// A further measurement of a link, in the round of the tournament in which the link was measured before.
struct Look {
    Link link;
    Role role;
    int suspect; // index of the suspect
};

/// The peers of the nodes of a group, and its suspects.
class Peers {
public:
    explicit Peers(const LinkTimes &times);

    /// The nodes with the fastest links to a node, at most six, the nearest first.
    const std::vector<int> &neighbors(int node) const { return neighbors_[index(node)]; }

    /// Returns the suspects: nodes, then links without those of suspect nodes; the slowest first. A suspect is slower
    /// than its peers by `min_ratio`, and its score is beyond the Bonferroni quantile at 1 % of a normal distribution
    /// with the median and the median absolute deviation of the scores. Among fewer than 16 scores, 1.5 times the time
    /// of the peers is enough.
    std::vector<Suspect> find_suspects() const;

    /// Returns looks at the suspects of this group that have the indices `chosen` and are nodes, or links if `nodes` is
    /// false: for each, a look at its link, then at two control links, from an end of the link to a neighbor of the
    /// other end. The link of a suspect node is that to a random node.
    std::vector<Look> looks(const std::vector<Suspect> &suspects, const std::vector<std::size_t> &chosen, bool nodes,
                            std::mt19937_64 &random) const;

private:
    /// The logarithm of the ratio of the time of a node or link to that of its peers; NaN without times.
    double score(int node) const;
    double score(const Link &link) const;
    std::vector<int> controls_of(const std::vector<Suspect> &suspects, int node, int other) const;
    int draw_partner(const std::vector<Suspect> &suspects, int node, std::mt19937_64 &random) const;
    std::size_t index(int node) const { return static_cast<std::size_t>(node - times_.nodes().front()); }

    const LinkTimes &times_;
    std::vector<std::vector<int>> neighbors_; // of each node
    std::vector<double> medians_;             // of the log times of each node's links
};

/// Returns the indices of the suspects of `looks` that took more than `min_ratio` times as long as the faster of their
/// controls; `seconds` has the time of each look. A suspect without a measured control is not slow again, since nothing
/// confirms it.
std::vector<std::size_t> slow_again(const std::vector<Look> &looks, const std::vector<double> &seconds);

/// Returns the first `max_confirmed` of the indices `chosen` in each group, in ascending order. Suspects are ordered:
/// nodes, then links, the slowest first.
std::vector<std::size_t> choose_confirmed(const std::vector<Suspect> &suspects, std::vector<std::size_t> chosen,
                                          const std::vector<LinkTimes> &groups);

} // namespace bench
