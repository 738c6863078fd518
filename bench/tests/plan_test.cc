#include "plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace bench {
namespace {

std::vector<std::size_t> cells_of(const std::vector<Block> &blocks) {
    std::vector<std::size_t> cells;
    for (const Block &block : blocks) {
        cells.push_back(block.cell);
    }
    return cells;
}

TEST(Plan, EveryCellGetsItsSamplesInTenBlocks) {
    std::map<std::size_t, long> samples;
    std::map<std::size_t, long> blocks;
    for (const Block &block : plan_blocks(7, 1003, 1)) {
        samples[block.cell] += block.samples;
        blocks[block.cell] += 1;
        EXPECT_GE(block.samples, 100);
        EXPECT_LE(block.samples, 101);
    }
    EXPECT_EQ(samples.size(), 7U);
    for (const auto &[cell, sum] : samples) {
        EXPECT_EQ(sum, 1003) << cell;
        EXPECT_EQ(blocks[cell], blocks_per_cell) << cell;
    }
}

TEST(Plan, FewSamplesMakeFewBlocks) {
    const std::vector<Block> blocks = plan_blocks(2, 3, 1);
    EXPECT_EQ(blocks.size(), 6U);
    EXPECT_TRUE(std::all_of(blocks.begin(), blocks.end(), [](const Block &block) { return block.samples == 1; }));
}

TEST(Plan, TheSeedDecidesTheOrder) {
    EXPECT_EQ(cells_of(plan_blocks(9, 1000, 5)), cells_of(plan_blocks(9, 1000, 5)));
    EXPECT_NE(cells_of(plan_blocks(9, 1000, 5)), cells_of(plan_blocks(9, 1000, 6)));
}

TEST(Plan, TheOrderIsTheSameOnEveryMachine) {
    EXPECT_EQ(cells_of(plan_blocks(3, 2, 42)), (std::vector<std::size_t>{1, 0, 2, 1, 2, 0}));
}

TEST(Plan, CellsAreInterleaved) {
    const std::vector<std::size_t> cells = cells_of(plan_blocks(20, 1000, 1));
    EXPECT_FALSE(std::is_sorted(cells.begin(), cells.end()));
    // Each cell has a block in either half of the run: with 10 blocks in random order the contrary has odds of 2^-9.
    const auto half = cells.begin() + static_cast<std::ptrdiff_t>(cells.size() / 2);
    std::size_t in_both = 0;
    for (std::size_t cell = 0; cell < 20; ++cell) {
        in_both += std::find(cells.begin(), half, cell) != half && std::find(half, cells.end(), cell) != cells.end();
    }
    EXPECT_GE(in_both, 19U);
}

TEST(Plan, TheLastBlockOfEachCellIsMarked) {
    std::map<std::size_t, std::size_t> last;
    const std::vector<Block> blocks = plan_blocks(5, 100, 3);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        last[blocks[i].cell] = i;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_EQ(blocks[i].last, last[blocks[i].cell] == i) << i;
    }
}

} // namespace
} // namespace bench
