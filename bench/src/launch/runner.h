#pragma once

#include "algorithms/algorithm.h"
#include "cells/cell.h"
#include "operations/operation.h"
#include "patterns/arrival_pattern.h"
#include "stopping_rules/stopping_rule.h"
#include "synchronizers/synchronizer.h"
#include "timings/timing.h"

#include <cstddef>
#include <memory>

namespace bench {

/// An operation with a size and an algorithm.
struct Subject {
    std::shared_ptr<AlgorithmInForce> algorithm; // outlives the operation, which uses its communicator
    std::shared_ptr<Operation> operation;
    double time; // seconds that it takes, estimated
};

/// A cell with everything needed to measure it.
struct Runner {
    std::size_t index;
    Cell cell;
    Subject subject;
    std::shared_ptr<AlgorithmInForce> barrier; // of the synchronizer; outlives it
    std::shared_ptr<Synchronizer> synchronizer;
    std::shared_ptr<Timing> timing;
    PlannedDelays delays;
    std::shared_ptr<StoppingRule> stopping;
    double duration = 0.0; // seconds from a start to the end of the timed part, estimated
    long wanted = 0;       // valid samples in the next block
    long attempts = 0;     // without the warm-up
    CellRecord record;     // filled at rank 0
};

/// Collective. The number of valid samples that the next block needs; 0 if the cell is complete.
inline long next_block(const Communicator &comm, const Runner &runner) {
    return comm.on_root([&] { return runner.stopping->next_block(runner.record.progress()); });
}

} // namespace bench
