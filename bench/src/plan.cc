#include "plan.h"

#include "shuffle.h"

#include <algorithm>
#include <random>

namespace bench {
std::vector<Block> plan_blocks(std::size_t cells, long samples_per_cell, std::uint64_t seed) {
    const long count = std::min(blocks_per_cell, samples_per_cell);
    std::vector<Block> blocks;
    for (std::size_t cell = 0; cell < cells; ++cell) {
        for (long i = 0; i < count; ++i) {
            const long samples = samples_per_cell / count + (i < samples_per_cell % count ? 1 : 0);
            blocks.push_back({cell, samples, false});
        }
    }
    std::mt19937_64 random(seed);
    shuffle(blocks, random);

    std::vector<bool> seen(cells, false);
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
        block->last = !seen[block->cell];
        seen[block->cell] = true;
    }
    return blocks;
}

} // namespace bench
