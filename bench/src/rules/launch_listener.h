#pragma once

#include "rules/batch.h"
#include "rules/cell.h"
#include "rules/validity.h"

#include <vector>

namespace bench {

/// The samples of a batch and their place in the launch.
struct BatchReport {
    std::size_t cell;
    std::size_t block;  // position in the order of the launch
    long first_attempt; // of the batch, within its cell, from 0, warm-up included
    const Batch &batch;
    const std::vector<Verdict> &verdicts; // per sample
    double canary;                        // seconds, round trip of a cache line before the block; NaN if there is none
};

/// Hears of a launch as it goes, at rank 0.
class LaunchListener {
public:
    virtual ~LaunchListener() = default;

    /// After each batch.
    virtual void samples(const BatchReport &) {}

    /// When a cell is complete.
    virtual void cell(const CellResult &) {}
};

using LaunchListeners = std::vector<LaunchListener *>;

} // namespace bench
