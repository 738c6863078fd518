#pragma once

#include "text/component.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Planned entry times relative to the common start.
class ArrivalPattern {
public:
    virtual ~ArrivalPattern() = default;

    /// The share of the largest delay, 0 to 1, by which the process at `position` starts late in call `call`, both
    /// counted from 0; calls before are warm-up. A place is a rank, unless the pattern is permuted over the ranks.
    virtual double share(int position, long call) const = 0;

    /// Seconds of the largest delay where the pattern knows it itself.
    virtual std::optional<double> own_delay() const { return std::nullopt; }
};

struct PatternArguments {
    const Component &component;
    int ranks;
    const std::vector<int> &nodes; // of each rank, numbered from 0 in order of appearance
    std::uint64_t seed;
    const std::function<std::string(const std::string &path)> &read; // a file's text, the same on all ranks
};

struct PatternInfo : ComponentInfo {
    /// Throws Error::usage if the pattern does not fit the ranks.
    std::unique_ptr<ArrivalPattern> (*make)(const PatternArguments &arguments);
    bool knows_delay = false; // itself, so that none need be given
};

namespace patterns {
std::vector<PatternInfo> shapes(); // that depend on the place alone
std::vector<PatternInfo> random();
PatternInfo trace();
} // namespace patterns

const std::vector<PatternInfo> &all_patterns();

/// The pattern without delays.
constexpr const char *no_pattern = "none";

/// The planned start of one rank in each call of a cell: from a pattern, its largest delay, and the rank's place in it.
class PlannedDelays {
public:
    /// `delay` in seconds.
    PlannedDelays(std::shared_ptr<const ArrivalPattern> pattern, double delay, int position);

    /// Seconds after the common start, for `count` calls from `first` on.
    std::vector<double> of_calls(long first, long count) const;

private:
    std::shared_ptr<const ArrivalPattern> pattern_;
    double delay_;
    int place_;
};

/// The place of every rank in a pattern: a permutation that the seed decides.
std::vector<int> permuted_places(int ranks, std::uint64_t seed);

} // namespace bench
