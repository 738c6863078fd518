#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace bench {

/// A random permutation, the same on all machines for the same engine: std::shuffle and the standard distributions
/// differ between standard libraries, the engine does not. The bias of the remainder is below 2^-40 for any number of
/// items that fits a run.
template <typename Item> void shuffle(std::vector<Item> &items, std::mt19937_64 &random) {
    for (std::size_t left = items.size(); left > 1; --left) {
        std::swap(items[left - 1], items[random() % left]);
    }
}

} // namespace bench
