// Arrival patterns: by how much each rank starts an operation late, on purpose. A pattern gives shares of the largest
// delay; the largest delay comes from --delay. PlannedDelays turns both into seconds for a rank.
#pragma once

#include "text/component.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// The planned delays of all positions, relative to the common start.
class ArrivalPattern {
public:
    virtual ~ArrivalPattern() = default;

    /// The delay of `position` in `call`, as a share (0 to 1) of the largest delay. Positions count from 0; a position
    /// is a rank, unless --permute permutes positions over ranks. Calls count from 0; warm-up calls are negative.
    virtual double share(int position, long call) const = 0;

    /// The largest delay in seconds, if the pattern defines it, as a recorded pattern does; else empty.
    virtual std::optional<double> recorded_delay() const { return std::nullopt; }
};

/// The arguments with which a pattern is made.
struct PatternArguments {
    const Component &component; // the pattern and its parameters
    int ranks;                  // number of ranks
    // Node of each rank, numbered from 0 in order of appearance. With --permute, patterns use it as the node of each
    // position, so the ranks of a node may be at different steps.
    const std::vector<int> &nodes;
    std::uint64_t seed;
    const std::function<std::string(const std::string &path)> &read; // reads a file; all ranks get the same text
};

struct PatternInfo : ComponentInfo {
    /// Makes the pattern. Throws Error::usage if it does not fit the ranks.
    std::unique_ptr<ArrivalPattern> (*make)(const PatternArguments &arguments);
    bool has_recorded_delay = false; // the pattern works without --delay
};

namespace patterns {
std::vector<PatternInfo> shapes(); // patterns that are the same in all calls
std::vector<PatternInfo> random(); // patterns that draw the delays
PatternInfo trace();               // delays from a file
} // namespace patterns

const std::vector<PatternInfo> &all_patterns();

/// The pattern without delays.
constexpr const char *no_pattern = "none";

/// The planned delays of a rank in the calls of a cell.
class PlannedDelays {
public:
    /// `delay`: largest delay of the pattern, s. `position`: of this rank in the pattern.
    PlannedDelays(std::shared_ptr<const ArrivalPattern> pattern, double delay, int position);

    /// The delays after the common start, s, of `count` calls from call `first` on.
    std::vector<double> of_calls(long first, long count) const;

private:
    std::shared_ptr<const ArrivalPattern> pattern_;
    double delay_; // largest delay, s
    int position_; // of this rank
};

/// Draws a permutation: the position in a pattern of each rank.
std::vector<int> permuted_positions(int ranks, std::uint64_t seed);

} // namespace bench
