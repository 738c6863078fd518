#include "operations/collectives/blocks.h"

namespace bench {
namespace {

constexpr const char *rising = "rising";

bool rise(const CollectiveArguments &arguments) { return arguments.component.word("counts") == rising; }

} // namespace

void Blocks::add(std::uint64_t count, std::uint64_t at) {
    counts.push_back(static_cast<int>(count));
    displacements.push_back(static_cast<int>(at));
}

std::vector<Piece> Blocks::from_each_rank() const {
    std::vector<Piece> pieces;
    for (std::size_t block = 0; block < counts.size(); ++block) {
        const int rank = static_cast<int>(block);
        pieces.push_back({at(block), count(block), 0, rank, rank});
    }
    return pieces;
}

ComponentParameter counts_parameter() {
    return {"counts", "equal",
            "block sizes: equal for all ranks, or growing with the rank; their mean is the message size",
            ComponentValues::choice({"equal", rising})};
}

Blocks share(const CollectiveArguments &arguments, std::uint64_t total) {
    const auto ranks = static_cast<std::uint64_t>(arguments.ranks);
    const auto begin = [&](std::uint64_t rank) {
        return rise(arguments) ? total * (rank * (rank + 1) / 2) / (ranks * (ranks + 1) / 2) : total * rank / ranks;
    };
    Blocks blocks;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        blocks.add(begin(rank + 1) - begin(rank));
    }
    return blocks;
}

std::uint64_t pair_count(const CollectiveArguments &arguments, int a, int b) {
    const auto ranks = static_cast<std::uint64_t>(arguments.ranks);
    return rise(arguments) ? arguments.count * static_cast<std::uint64_t>(1 + a + b) / ranks : arguments.count;
}

std::uint64_t largest_pair(const CollectiveArguments &arguments) {
    return rise(arguments) ? 2 * arguments.count : arguments.count;
}

Blocks pair_blocks(const CollectiveArguments &arguments, int rank) {
    Blocks blocks;
    for (int other = 0; other < arguments.ranks; ++other) {
        blocks.add(pair_count(arguments, rank, other));
    }
    return blocks;
}

std::vector<Piece> pair_results(const CollectiveArguments &arguments) {
    const Blocks own = pair_blocks(arguments, arguments.rank);
    std::vector<Piece> pieces;
    for (int rank = 0; rank < arguments.ranks; ++rank) {
        const auto block = static_cast<std::size_t>(rank);
        const std::uint64_t from = pair_blocks(arguments, rank).at(static_cast<std::size_t>(arguments.rank));
        pieces.push_back({own.at(block), own.count(block), from, rank, rank});
    }
    return pieces;
}

std::uint64_t reach_pairs(const Component &component, int ranks) {
    return static_cast<std::uint64_t>(ranks) * (component.word("counts") == rising ? 2 : 1);
}

} // namespace bench
