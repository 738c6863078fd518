#pragma once

#include <cstdint>

namespace bench {

/// The numbers that make up a rank's contribution to an element: they look random, and are the same on every rank.
struct Draw {
    int rank;
    int ranks; // that may be combined
    std::uint64_t index;

    /// Steele, Lea, Flood 2014: SplitMix64, of rank and index. Another `stream`, other bits.
    std::uint64_t bits(std::uint64_t stream = 0) const {
        std::uint64_t z = index * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(rank) * 0xd1b54a32d192ed03 +
                          (stream + 1) * 0x8cb92ba72f3d8dd7;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    /// Bits of which each is set on about one rank, so that a logical or bitwise operation on many ranks still
    /// distinguishes them.
    std::uint64_t sparse_bits() const {
        std::uint64_t sparse = bits(1);
        std::uint64_t stream = 2;
        for (int left = ranks; left > 2; left /= 2) {
            sparse &= bits(stream++);
        }
        return sparse;
    }

    /// Every how many ranks one is chosen for an element, so that no more than `most` are.
    int stride(int most) const { return (ranks + most - 1) / most; }
    /// Whether this rank is; which ones, changes from element to element, so that every rank has its turn.
    bool chosen(int most) const {
        return (static_cast<std::uint64_t>(rank) + index) % static_cast<std::uint64_t>(stride(most)) == 0;
    }
    /// How many ranks are, at most.
    int number_chosen(int most) const { return (ranks + stride(most) - 1) / stride(most); }
};

} // namespace bench
