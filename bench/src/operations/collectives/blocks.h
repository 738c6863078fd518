#pragma once

#include "operations/collectives/collective.h"

#include <cstdint>
#include <vector>

namespace bench {

/// Blocks of a buffer, as the irregular collectives take them.
struct Blocks {
    std::vector<int> counts;        // elements
    std::vector<int> displacements; // elements

    void add(std::uint64_t count, std::uint64_t at);
    /// After the last one.
    void add(std::uint64_t count) { add(count, end()); }
    std::uint64_t count(std::size_t block) const { return static_cast<std::uint64_t>(counts[block]); }
    std::uint64_t at(std::size_t block) const { return static_cast<std::uint64_t>(displacements[block]); }
    /// The beginning of each rank's contribution in the block of its number.
    std::vector<Piece> from_each_rank() const;
    /// The end of the last block.
    std::uint64_t end() const { return counts.empty() ? 0 : at(counts.size() - 1) + count(counts.size() - 1); }
};

/// The parameter `counts` of irregular collectives.
ComponentParameter counts_parameter();

/// `total` elements, shared among the ranks by that parameter: evenly, or rising with the rank, so that rank i has
/// 2 (i + 1) / (ranks + 1) of the mean; up to rounding. The sum is always `total`.
Blocks share(const CollectiveArguments &arguments, std::uint64_t total);

/// Elements that two ranks send each other, by that parameter: arguments.count elements, or (1 + a + b) / ranks times
/// as many, rounded down, which is the same in the mean. The same in both directions, as MPI_Alltoallv demands it in
/// place.
std::uint64_t pair_count(const CollectiveArguments &arguments, int a, int b);
/// The largest pair_count().
std::uint64_t largest_pair(const CollectiveArguments &arguments);
/// The blocks of one rank, one for every other.
Blocks pair_blocks(const CollectiveArguments &arguments, int rank);
/// The blocks of the others, as a rank receives them.
std::vector<Piece> pair_results(const CollectiveArguments &arguments);
/// For CollectiveInfo::reach: the blocks of the last rank, which are the largest.
std::uint64_t reach_pairs(const Component &component, int ranks);

} // namespace bench
