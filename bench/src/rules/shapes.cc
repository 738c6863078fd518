#include "rules/arrival_pattern.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

// Patterns that depend on the place alone.
namespace bench {
namespace {

/// `share` is a function of the place.
template <typename Share> class Shape : public ArrivalPattern {
public:
    explicit Shape(Share share) : share_(std::move(share)) {}
    double share(int place, long) const override { return share_(place); }

private:
    Share share_;
};

template <typename Share> std::unique_ptr<ArrivalPattern> make_shape(Share share) {
    return std::make_unique<Shape<Share>>(std::move(share));
}

ComponentParameter single_rank_parameter(const char *meaning) {
    return {"rank", "0", meaning, ComponentValues::whole(0, 1e9)};
}

/// Throws Error::usage if the rank is not in the communicator.
int single_rank(const PatternArguments &arguments) {
    const long rank = arguments.component.whole("rank");
    if (rank >= arguments.ranks) {
        throw Error::usage(fmt::format("arrival pattern cannot be '{}'; use a rank from 0 to {}",
                                       arguments.component.text(), arguments.ranks - 1));
    }
    return static_cast<int>(rank);
}

/// A normal density over the ranks, three standard deviations to either end, moved and scaled to reach 0 and 1.
double bell_share(int ranks, int place) {
    const auto density = [middle = (ranks - 1) / 2.0](int at) {
        const double deviations = 3.0 * (at - middle) / middle;
        return std::exp(-0.5 * deviations * deviations);
    };
    const double end = density(0);
    return (density(place) - end) / (density(ranks / 2) - end);
}

/// `arguments.ranks`, enough for a bell.
int bell_ranks(const PatternArguments &arguments) {
    constexpr int fewest_ranks = 3; // of two, either would be at an end
    if (arguments.ranks < fewest_ranks) {
        throw Error::usage(fmt::format("arrival pattern {} needs at least {} ranks; there are {}",
                                       arguments.component.name(), fewest_ranks, arguments.ranks));
    }
    return arguments.ranks;
}

} // namespace

std::vector<PatternInfo> patterns::shapes() {
    return {
        {{"none", "no delays: all ranks together"},
         [](const PatternArguments &) { return make_shape([](int) { return 0.0; }); }},
        {{"one_late",
          "one rank late, all others together",
          "Niethammer 2016, section III.D",
          {single_rank_parameter("the late rank")}},
         [](const PatternArguments &arguments) {
             return make_shape([late = single_rank(arguments)](int place) { return place == late ? 1.0 : 0.0; });
         }},
        {{"one_early", "one rank on time, all others late together", "", {single_rank_parameter("the early rank")}},
         [](const PatternArguments &arguments) {
             return make_shape([early = single_rank(arguments)](int place) { return place == early ? 0.0 : 1.0; });
         }},
        {{"ascending", "each rank later than the one before, in equal steps"},
         [](const PatternArguments &arguments) {
             return make_shape(
                 [last = std::max(arguments.ranks - 1, 1)](int place) { return static_cast<double>(place) / last; });
         }},
        {{"descending", "each rank earlier than the one before, in equal steps"},
         [](const PatternArguments &arguments) {
             return make_shape([last = std::max(arguments.ranks - 1, 1)](int place) {
                 return static_cast<double>(last - place) / last;
             });
         }},
        {{"half_late",
          "half of the ranks late",
          "",
          {{"layout", "blocked", "the upper half, or every second rank",
            ComponentValues::choice({"blocked", "alternating"})}}},
         [](const PatternArguments &arguments) {
             const bool alternating = arguments.component.word("layout") == "alternating";
             return make_shape([alternating, early = (arguments.ranks + 1) / 2](int place) {
                 return (alternating ? place % 2 == 1 : place >= early) ? 1.0 : 0.0;
             });
         }},
        {{"bell", "ranks in the middle late, those at both ends on time, following a normal density"},
         [](const PatternArguments &arguments) {
             return make_shape([ranks = bell_ranks(arguments)](int place) { return bell_share(ranks, place); });
         }},
        {{"inverse_bell", "ranks at both ends late, those in the middle on time"},
         [](const PatternArguments &arguments) {
             return make_shape([ranks = bell_ranks(arguments)](int place) { return 1.0 - bell_share(ranks, place); });
         }},
        {{"node_steps", "the ranks of a node together, each node later than the one before"},
         [](const PatternArguments &arguments) {
             if (std::ranges::count(arguments.nodes, 0) == arguments.ranks) {
                 throw Error::usage("arrival pattern node_steps needs ranks on at least 2 nodes, but all are on one");
             }
             const int last = *std::ranges::max_element(arguments.nodes);
             return make_shape([nodes = arguments.nodes, last](int place) {
                 return static_cast<double>(nodes[static_cast<std::size_t>(place)]) / last;
             });
         }},
    };
}

} // namespace bench
