#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// A part of a cell that is measured in one go.
struct Block {
    std::size_t cell;
    long samples; // valid samples wanted
    bool last;    // of its cell
};

/// A cell is split into this many blocks, so that a disturbance that lasts for a while falls on parts of many cells and
/// not on the whole of one.
constexpr long blocks_per_cell = 10;

/// The blocks of all cells in random order, a function of the seed alone: the same on all ranks and all machines.
std::vector<Block> plan_blocks(std::size_t cells, long samples_per_cell, std::uint64_t seed);

} // namespace bench
