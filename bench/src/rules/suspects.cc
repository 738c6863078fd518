// The peers and suspects of a group of nodes, and the choice of further looks at the suspects (suspects.h).
#include "rules/suspects.h"

#include "rules/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace bench {
namespace {

constexpr std::size_t max_neighbors = 6; // chosen by hand, as PEERS of `downbeat locate`
constexpr double level = 0.01; // probability that any sound node, or any sound link, of a group becomes a suspect
constexpr std::size_t few_scores = 16; // chosen by hand: fewer scores do not show their scatter, and contain the fault
constexpr double large_ratio = 1.5;    // chosen by hand: a suspect among few scores, whatever their scatter
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The score from which the node or link is a suspect; `scores` has the scores of all nodes, or of all links.
double limit_of(const std::vector<double> &scores) {
    constexpr double normal = 1.4826; // standard deviation / median absolute deviation, of a normal distribution
    const double middle = known_median(scores);
    std::vector<double> distances;
    for (const double score : scores) {
        distances.push_back(std::abs(score - middle));
    }
    const double z = normal_quantile(1.0 - level / static_cast<double>(std::max<std::size_t>(1, scores.size())));
    const double limit = std::max(std::log(min_ratio), middle + z * normal * known_median(distances));
    return scores.size() < few_scores ? std::min(limit, std::log(large_ratio)) : limit;
}

bool is_suspect_node(const std::vector<Suspect> &suspects, int node) {
    return std::ranges::any_of(suspects,
                               [&](const Suspect &suspect) { return suspect.is_node() && suspect.a == node; });
}

bool is_suspect_link(const std::vector<Suspect> &suspects, int a, int b) {
    return std::ranges::any_of(
        suspects, [&](const Suspect &suspect) { return suspect.a == std::min(a, b) && suspect.b == std::max(a, b); });
}

Link link_of(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

} // namespace

LinkTimes::LinkTimes(const Group &group)
    : first_(group.first), size_(group.size),
      logs_(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_), unknown) {}

void LinkTimes::add(const Link &link, double seconds) {
    for (const std::size_t i : {index(link.a, link.b), index(link.b, link.a)}) {
        logs_[i] = std::fmin(logs_[i], std::log(seconds));
    }
}

Peers::Peers(const LinkTimes &times) : times_(times) {
    for (const int node : times.nodes()) {
        std::vector<int> known;
        std::vector<double> links;
        for (const int other : times.nodes()) {
            if (!std::isnan(times.of(node, other))) {
                known.push_back(other);
                links.push_back(times.of(node, other));
            }
        }
        const auto nearest = static_cast<std::ptrdiff_t>(std::min(max_neighbors, known.size()));
        std::ranges::partial_sort(known, known.begin() + nearest, {}, [&](int other) { return times.of(node, other); });
        known.resize(static_cast<std::size_t>(nearest));
        neighbors_.push_back(known);
        medians_.push_back(known_median(links));
    }
}

double Peers::score(int node) const {
    std::vector<double> peers;
    for (const int neighbor : neighbors(node)) {
        peers.push_back(medians_[index(neighbor)]);
    }
    return medians_[index(node)] - known_median(peers);
}

double Peers::score(const Link &link) const {
    // The peers of a link: the links from each end to the neighbors of the other end.
    std::vector<double> peers;
    for (const auto &[end, other] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
        for (const int neighbor : neighbors(other)) {
            if (neighbor != end) {
                peers.push_back(times_.of(end, neighbor));
            }
        }
    }
    return times_.of(link.a, link.b) - known_median(peers);
}

std::vector<Suspect> Peers::find_suspects() const {
    const auto keep = [](std::vector<Suspect> candidates) {
        std::erase_if(candidates, [](const Suspect &candidate) { return std::isnan(candidate.score); });
        std::vector<double> scores;
        for (const Suspect &candidate : candidates) {
            scores.push_back(candidate.score);
        }
        const double limit = limit_of(scores);
        std::erase_if(candidates, [&](const Suspect &candidate) { return candidate.score < limit; });
        std::ranges::stable_sort(candidates, std::ranges::greater{}, &Suspect::score);
        return candidates;
    };
    const auto nodes = times_.nodes();
    if (std::ssize(nodes) < min_nodes) {
        return {};
    }
    std::vector<Suspect> candidates;
    for (const int node : nodes) {
        candidates.push_back({node, whole_node, score(node)});
    }
    std::vector<Suspect> suspects = keep(std::move(candidates));
    candidates.clear();
    for (const int a : nodes) {
        for (const int b : nodes) {
            if (a < b && !is_suspect_node(suspects, a) && !is_suspect_node(suspects, b)) {
                candidates.push_back({a, b, score(Link{a, b})});
            }
        }
    }
    candidates = keep(std::move(candidates));
    suspects.insert(suspects.end(), candidates.begin(), candidates.end());
    return suspects;
}

/// Returns a random node other than `node`, if possible one that is not suspect.
int Peers::draw_partner(const std::vector<Suspect> &suspects, int node, std::mt19937_64 &random) const {
    std::vector<int> partners;
    std::ranges::copy_if(times_.nodes(), std::back_inserter(partners),
                         [&](int other) { return other != node && !is_suspect_node(suspects, other); });
    if (partners.empty()) {
        std::ranges::copy_if(times_.nodes(), std::back_inserter(partners), [&](int other) { return other != node; });
    }
    return partners[random() % partners.size()];
}

/// Returns two neighbors of `node` that meet `other` as controls: the nearest that are not suspect, else suspects.
std::vector<int> Peers::controls_of(const std::vector<Suspect> &suspects, int node, int other) const {
    std::vector<int> controls = neighbors(node);
    std::erase(controls, other);
    std::ranges::stable_partition(controls, [&](int control) {
        return !is_suspect_node(suspects, control) && !is_suspect_link(suspects, control, other);
    });
    controls.resize(std::min<std::size_t>(controls.size(), 2));
    return controls;
}

std::vector<Look> Peers::looks(const std::vector<Suspect> &suspects, const std::vector<std::size_t> &chosen, bool nodes,
                               std::mt19937_64 &random) const {
    std::vector<Look> looks;
    for (const std::size_t i : chosen) {
        const auto &[a, b, score] = suspects[i];
        if (suspects[i].is_node() != nodes || !times_.has(a)) {
            continue;
        }
        const int index = static_cast<int>(i);
        const int other = nodes ? draw_partner(suspects, a, random) : b;
        looks.push_back({link_of(a, other), Role::suspect, index});
        if (nodes) {
            for (const int control : controls_of(suspects, a, other)) {
                looks.push_back({link_of(control, other), Role::control, index});
            }
            continue;
        }
        // One control from each end: a link of `end` to the best neighbor of `far`, the other end.
        for (const auto &[end, far] : {std::pair(a, b), std::pair(b, a)}) {
            if (const std::vector<int> controls = controls_of(suspects, far, end); !controls.empty()) {
                looks.push_back({link_of(end, controls.front()), Role::control, index});
            }
        }
    }
    return looks;
}

std::vector<std::size_t> slow_again(const std::vector<Look> &looks, const std::vector<double> &seconds) {
    std::vector<std::size_t> slow;
    for (std::size_t i = 0; i < looks.size();) {
        const std::size_t suspect = i;
        double control = unknown; // seconds of the faster control
        for (++i; i < looks.size() && looks[i].role == Role::control; ++i) {
            control = std::fmin(control, seconds[i]);
        }
        if (seconds[suspect] > min_ratio * control) { // false if a time is NaN
            slow.push_back(static_cast<std::size_t>(looks[suspect].suspect));
        }
    }
    return slow;
}

std::size_t max_second_looks(const Group &group) {
    return std::max(max_confirmed, static_cast<std::size_t>(group.size) / 4);
}

std::vector<std::size_t> choose_confirmed(const std::vector<Suspect> &suspects, std::vector<std::size_t> chosen,
                                          const std::vector<LinkTimes> &groups) {
    std::ranges::sort(chosen);
    std::vector<std::size_t> confirmed;
    for (const LinkTimes &group : groups) {
        std::size_t in_group = 0;
        for (const std::size_t index : chosen) {
            if (group.has(suspects[index].a) && in_group < max_confirmed) {
                confirmed.push_back(index);
                ++in_group;
            }
        }
    }
    return confirmed;
}

} // namespace bench
