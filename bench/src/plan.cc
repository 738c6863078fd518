#include "plan.h"

#include <algorithm>
#include <random>
#include <utility>

namespace bench {
namespace {

// std::shuffle and the standard distributions differ between standard libraries; the engine does not. The bias of the
// remainder is below 2^-40 for any number of blocks that fits a run.
void shuffle(std::vector<Block> &blocks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t left = blocks.size(); left > 1; --left) {
        std::swap(blocks[left - 1], blocks[random() % left]);
    }
}

} // namespace

std::vector<Block> plan_blocks(std::size_t cells, long samples_per_cell, std::uint64_t seed) {
    const long count = std::min(blocks_per_cell, samples_per_cell);
    std::vector<Block> blocks;
    for (std::size_t cell = 0; cell < cells; ++cell) {
        for (long i = 0; i < count; ++i) {
            const long samples = samples_per_cell / count + (i < samples_per_cell % count ? 1 : 0);
            blocks.push_back({cell, samples, false});
        }
    }
    shuffle(blocks, seed);

    std::vector<bool> seen(cells, false);
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
        block->last = !seen[block->cell];
        seen[block->cell] = true;
    }
    return blocks;
}

} // namespace bench
