// The arrival patterns (arrival_pattern.h): recorded delays, random delays, and patterns that are the same in all
// calls.
#include "rules/arrival_pattern.h"

#include "rules/statistics.h"
#include "split_mix.h"
#include "text/parse.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <numeric>
#include <sstream>
#include <utility>

namespace bench {
namespace {

/// Replays recorded delays, one line of the file per call, and starts again after the last line.
class Trace : public ArrivalPattern {
public:
    explicit Trace(std::vector<std::vector<double>> delays) : delays_(std::move(delays)) {
        for (const std::vector<double> &call : delays_) {
            largest_ = std::max(largest_, *std::ranges::max_element(call));
        }
    }
    double share(int position, long call) const override {
        const auto calls = static_cast<long>(delays_.size());
        const long line = (call % calls + calls) % calls; // warm-up calls, which are negative, get the last lines
        return delays_[static_cast<std::size_t>(line)][static_cast<std::size_t>(position)] / largest_;
    }
    std::optional<double> recorded_delay() const override { return largest_; }

private:
    std::vector<std::vector<double>> delays_; // seconds, [call][position]
    double largest_ = 0.0;                    // largest delay, s
};

/// Parses a delay in seconds. `where`: file and line, for the error.
double parse_delay(const std::string &word, const std::string &where) {
    const std::optional<double> seconds = read_number<double>(word);
    if (!seconds || !(*seconds >= 0.0 && *seconds <= 3600.0)) { // more than an hour is a typing error
        throw Error::usage(fmt::format("{}: '{}' is not a delay; use seconds from 0 to 3600, e.g. 1e-05", where, word));
    }
    return *seconds;
}

/// Parses a file of delays. Returns s, [call][position].
std::vector<std::vector<double>> parse_trace(const std::string &path, const std::string &text, int ranks) {
    std::vector<std::vector<double>> delays;
    int number = 0;
    for (std::string &line : split(text, '\n')) {
        const std::string where = fmt::format("'{}', line {}", path, ++number);
        line = line.substr(0, line.find('#'));
        std::ranges::replace(line, ',', ' ');
        std::istringstream words(line);
        std::vector<double> call;
        for (std::string word; words >> word;) {
            call.push_back(parse_delay(word, where));
        }
        if (!call.empty() && call.size() != static_cast<std::size_t>(ranks)) {
            throw Error::usage(
                fmt::format("{}: {} delays for {} ranks; give one delay per rank", where, call.size(), ranks));
        }
        if (!call.empty()) {
            delays.push_back(std::move(call));
        }
    }
    const auto delays_any = [](const std::vector<double> &call) {
        return std::ranges::any_of(call, [](double delay) { return delay > 0.0; });
    };
    if (std::ranges::none_of(delays, delays_any)) {
        throw Error::usage(fmt::format(
            "'{}' has no delay above 0; write one line per call with a delay in seconds for each rank", path));
    }
    return delays;
}

} // namespace

PatternInfo patterns::trace() {
    return {{"trace",
             "delays from a file, replayed in a loop: seconds, one per rank, one line per call",
             "",
             {{"file", "", "path of the file; # starts a comment", ComponentValues::text()}}},
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                const std::string &path = arguments.component.word("file");
                return std::make_unique<Trace>(parse_trace(path, arguments.read(path), arguments.ranks));
            },
            true};
}

namespace {

/// The `index`-th number of a SplitMix64 stream, from the seed and the index alone, so that each rank computes the same
/// numbers by itself.
std::uint64_t draw_bits(std::uint64_t seed, std::uint64_t index) { return db_mix(seed + (index + 1) * GOLDEN_GAMMA); }

/// The `index`-th uniform number of a stream, between 0 and 1, both excluded.
double draw(std::uint64_t seed, std::uint64_t index) {
    return (static_cast<double>(draw_bits(seed, index) >> 11) + 0.5) * 0x1p-53;
}

/// Turns two independent uniform numbers, u and v, into a share of the largest delay.
using Distribution = double (*)(const Component &component, double u, double v);

/// Draws the delay of each position, again after every `calls_` calls; only once if `calls_` is 0. Since the division
/// truncates, the last warm-up calls, which are negative, have the delays of the first calls.
class Random : public ArrivalPattern {
public:
    Random(const PatternArguments &arguments, Distribution distribution)
        : component_(arguments.component), calls_(arguments.component.whole("calls")), seed_(arguments.seed),
          ranks_(static_cast<std::uint64_t>(arguments.ranks)), distribution_(distribution) {}

    double share(int position, long call) const override {
        const auto round = static_cast<std::uint64_t>(calls_ == 0 ? 0 : call / calls_);
        // Each position has two numbers in each round.
        const std::uint64_t index = 2 * (round * ranks_ + static_cast<std::uint64_t>(position));
        return distribution_(component_, draw(seed_, index), draw(seed_, index + 1));
    }

private:
    Component component_;
    long calls_; // parameter "calls"
    std::uint64_t seed_;
    std::uint64_t ranks_;
    Distribution distribution_;
};

/// The parameter of patterns that draw delays: for how many calls they keep them.
ComponentParameter calls_until_redrawn() {
    return {"calls", "1", "calls until new delays are drawn; 0: draw once", ComponentValues::whole(0, 1e9)};
}

} // namespace

std::vector<PatternInfo> patterns::random() {
    return {
        {{"uniform", "delays drawn uniformly from 0 to the largest", "", {calls_until_redrawn()}},
         [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
             return std::make_unique<Random>(arguments, [](const Component &, double u, double) { return u; });
         }},
        {{"normal",
          "delays drawn from a normal distribution around half the largest, cut to 0 and the largest",
          "",
          {{"deviation", "0.15", "standard deviation, relative to the largest delay", ComponentValues::real(1e-6, 1)},
           calls_until_redrawn()}},
         [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
             return std::make_unique<Random>(arguments, [](const Component &component, double u, double v) {
                 // A normal number from two uniform numbers (Box and Muller 1958).
                 const double z = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
                 return std::clamp(0.5 + component.real("deviation") * z, 0.0, 1.0);
             });
         }},
        {{"exponential",
          "delays drawn from an exponential distribution, cut off at the largest",
          "",
          {{"mean", "0.2", "mean before the cut, relative to the largest delay", ComponentValues::real(1e-3, 10)},
           calls_until_redrawn()}},
         [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
             return std::make_unique<Random>(arguments, [](const Component &component, double u, double) {
                 // The inverse distribution function of an exponential distribution that is cut off at 1.
                 const double mean = component.real("mean");
                 return -mean * std::log1p(u * std::expm1(-1.0 / mean));
             });
         }},
    };
}

namespace {

/// A pattern that is the same in all calls. `share` is a function of the position.
template <typename Share> class Shape : public ArrivalPattern {
public:
    explicit Shape(Share share) : share_(std::move(share)) {}
    double share(int position, long) const override { return share_(position); }

private:
    Share share_;
};

template <typename Share> std::unique_ptr<ArrivalPattern> make_shape(Share share) {
    return std::make_unique<Shape<Share>>(std::move(share));
}

/// Parameter "rank" of patterns in which one rank differs from the others.
ComponentParameter single_rank_parameter(const char *meaning) {
    return {"rank", "0", meaning, ComponentValues::whole(0, 1e9)};
}

/// The value of parameter "rank". Throws Error::usage if the rank is not in the communicator.
int single_rank(const PatternArguments &arguments) {
    const long rank = arguments.component.whole("rank");
    if (rank >= arguments.ranks) {
        throw Error::usage(fmt::format("arrival pattern cannot be '{}'; use a rank from 0 to {}",
                                       arguments.component.text(), arguments.ranks - 1));
    }
    return static_cast<int>(rank);
}

/// A normal density over the positions, from -3 to 3 standard deviations, scaled so that it is 0 at both ends and 1 in
/// the middle.
double bell_share(int ranks, int position) {
    const auto density = [middle = (ranks - 1) / 2.0](int at) {
        const double deviations = 3.0 * (at - middle) / middle;
        return std::exp(-0.5 * deviations * deviations);
    };
    const double end = density(0);
    return (density(position) - end) / (density(ranks / 2) - end);
}

/// The number of ranks. Throws Error::usage if there are too few for a bell.
int bell_ranks(const PatternArguments &arguments) {
    constexpr int min_ranks = 3; // with two, both ranks are at an end and the bell has no middle
    if (arguments.ranks < min_ranks) {
        throw Error::usage(fmt::format("arrival pattern {} needs at least {} ranks; there are {}",
                                       arguments.component.name(), min_ranks, arguments.ranks));
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
             return make_shape([late = single_rank(arguments)](int position) { return position == late ? 1.0 : 0.0; });
         }},
        {{"one_early", "one rank on time, all others late together", "", {single_rank_parameter("the early rank")}},
         [](const PatternArguments &arguments) {
             return make_shape(
                 [early = single_rank(arguments)](int position) { return position == early ? 0.0 : 1.0; });
         }},
        {{"ascending", "each rank later than the one before, in equal steps"},
         [](const PatternArguments &arguments) {
             return make_shape([last = std::max(arguments.ranks - 1, 1)](int position) {
                 return static_cast<double>(position) / last;
             });
         }},
        {{"descending", "each rank earlier than the one before, in equal steps"},
         [](const PatternArguments &arguments) {
             return make_shape([last = std::max(arguments.ranks - 1, 1)](int position) {
                 return static_cast<double>(last - position) / last;
             });
         }},
        {{"half_late",
          "half of the ranks late",
          "",
          {{"layout", "blocked", "the upper half, or every second rank",
            ComponentValues::choice({"blocked", "alternating"})}}},
         [](const PatternArguments &arguments) {
             const bool alternating = arguments.component.word("layout") == "alternating";
             return make_shape([alternating, early = (arguments.ranks + 1) / 2](int position) {
                 return (alternating ? position % 2 == 1 : position >= early) ? 1.0 : 0.0;
             });
         }},
        {{"bell", "ranks in the middle late, those at both ends on time, following a normal density"},
         [](const PatternArguments &arguments) {
             return make_shape([ranks = bell_ranks(arguments)](int position) { return bell_share(ranks, position); });
         }},
        {{"inverse_bell", "ranks at both ends late, those in the middle on time"},
         [](const PatternArguments &arguments) {
             return make_shape(
                 [ranks = bell_ranks(arguments)](int position) { return 1.0 - bell_share(ranks, position); });
         }},
        {{"node_steps", "the ranks of a node together, each node later than the one before"},
         [](const PatternArguments &arguments) {
             if (std::ranges::count(arguments.nodes, 0) == arguments.ranks) {
                 throw Error::usage("arrival pattern node_steps needs ranks on at least 2 nodes, but all are on one");
             }
             const int last = *std::ranges::max_element(arguments.nodes);
             return make_shape([nodes = arguments.nodes, last](int position) {
                 return static_cast<double>(nodes[static_cast<std::size_t>(position)]) / last;
             });
         }},
    };
}

const std::vector<PatternInfo> &all_patterns() {
    static const std::vector<PatternInfo> registry = [] {
        std::vector<PatternInfo> entries = patterns::shapes();
        const std::vector<PatternInfo> drawn = patterns::random();
        entries.insert(entries.end(), drawn.begin(), drawn.end());
        entries.push_back(patterns::trace());
        return entries;
    }();
    return registry;
}

PlannedDelays::PlannedDelays(std::shared_ptr<const ArrivalPattern> pattern, double delay, int position)
    : pattern_(std::move(pattern)), delay_(delay), position_(position) {}

std::vector<double> PlannedDelays::of_calls(long first, long count) const {
    std::vector<double> delays(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < delays.size(); ++i) {
        // Delay 0 is pattern none, which needs no share.
        delays[i] = delay_ > 0.0 ? delay_ * pattern_->share(position_, first + static_cast<long>(i)) : 0.0;
    }
    return delays;
}

std::vector<int> permuted_positions(int ranks, std::uint64_t seed) {
    std::vector<int> positions(static_cast<std::size_t>(ranks));
    std::iota(positions.begin(), positions.end(), 0);
    std::mt19937_64 random(seed);
    shuffle(positions, random);
    return positions;
}

} // namespace bench
