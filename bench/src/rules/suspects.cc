#include "rules/suspects.h"

#include "rules/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bench {
namespace {

constexpr std::size_t most_neighbors = 6; // choice, as in the simulations of docs/measured
constexpr double level = 0.01;            // that any healthy node, or any healthy link, becomes a suspect
constexpr std::size_t few_scores = 16;    // choice: the scatter of fewer is not known, and a fault is a part of it
constexpr double large_ratio = 1.5;       // choice: suspect among few, whatever their scatter
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The score above which one of `scores` is suspect.
double limit_of(const std::vector<double> &scores) {
    constexpr double normal = 1.4826; // standard deviation / median absolute deviation
    const double middle = known_median(scores);
    std::vector<double> distances;
    for (const double score : scores) {
        distances.push_back(std::abs(score - middle));
    }
    const double z = normal_quantile(1.0 - level / static_cast<double>(std::max<std::size_t>(1, scores.size())));
    const double limit = std::max(std::log(least_ratio), middle + z * normal * known_median(distances));
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

LinkTimes::LinkTimes(int nodes)
    : nodes_(nodes), logs_(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes), unknown) {}

void LinkTimes::add(const Link &link, double seconds) {
    const double value = std::log(seconds);
    for (const std::size_t at : {index(link.a, link.b), index(link.b, link.a)}) {
        logs_[at] = std::fmin(logs_[at], value);
    }
}

Peers::Peers(const LinkTimes &times) : times_(times) {
    const int nodes = times.nodes();
    for (int node = 0; node < nodes; ++node) {
        std::vector<int> known;
        std::vector<double> links;
        for (int other = 0; other < nodes; ++other) {
            if (!std::isnan(times.of(node, other))) {
                known.push_back(other);
                links.push_back(times.of(node, other));
            }
        }
        const auto nearest = static_cast<std::ptrdiff_t>(std::min(most_neighbors, known.size()));
        std::ranges::partial_sort(known, known.begin() + nearest, {}, [&](int other) { return times.of(node, other); });
        known.resize(static_cast<std::size_t>(nearest));
        neighbors_.push_back(known);
        medians_.push_back(known_median(links));
    }
}

double Peers::score(int node) const {
    std::vector<double> peers;
    for (const int neighbor : neighbors(node)) {
        peers.push_back(medians_[static_cast<std::size_t>(neighbor)]);
    }
    return medians_[static_cast<std::size_t>(node)] - known_median(peers);
}

double Peers::score(const Link &link) const {
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
    const int nodes = times_.nodes();
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
    if (nodes < fewest_nodes) {
        return {};
    }
    std::vector<Suspect> candidates;
    for (int node = 0; node < nodes; ++node) {
        candidates.push_back({node, whole_node, score(node)});
    }
    std::vector<Suspect> suspects = keep(std::move(candidates));
    candidates.clear();
    for (int a = 0; a < nodes; ++a) {
        for (int b = a + 1; b < nodes && !is_suspect_node(suspects, a); ++b) {
            if (!is_suspect_node(suspects, b)) {
                candidates.push_back({a, b, score(Link{a, b})});
            }
        }
    }
    candidates = keep(std::move(candidates));
    suspects.insert(suspects.end(), candidates.begin(), candidates.end());
    return suspects;
}

int Peers::draw_partner(const std::vector<Suspect> &suspects, int node, std::mt19937_64 &random) const {
    std::vector<int> partners;
    for (const bool healthy : {true, false}) {
        for (int other = 0; other < times_.nodes() && (healthy || partners.empty()); ++other) {
            if (other != node && !(healthy && is_suspect_node(suspects, other))) {
                partners.push_back(other);
            }
        }
    }
    return partners[random() % partners.size()];
}

/// The two nearest neighbors of a node without suspicion that can meet `other`; with it where there are no more.
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
        if (suspects[i].is_node() != nodes) {
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
        double control = unknown;
        for (++i; i < looks.size() && looks[i].role == Role::control; ++i) {
            control = std::fmin(control, seconds[i]);
        }
        if (seconds[suspect] > least_ratio * control) {
            slow.push_back(static_cast<std::size_t>(looks[suspect].suspect));
        }
    }
    return slow;
}

} // namespace bench
