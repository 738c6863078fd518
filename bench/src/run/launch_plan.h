// Turns the options of a run into cells: combinations of operation, size, algorithm, synchronizer, timing scheme and
// arrival pattern, each with the objects that measure it.
#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "operations/algorithm.h"
#include "operations/operation.h"
#include "rules/arrival_pattern.h"
#include "rules/cell.h"
#include "rules/stopping_rule.h"
#include "run/options.h"
#include "synchronizers/synchronizer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mpi.h>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// An operation with a size and an algorithm.
struct PlannedOperation {
    std::shared_ptr<AlgorithmInForce> algorithm; // declared first, because the operation uses its communicator
    std::shared_ptr<Operation> operation;
    double time; // estimated time of a call, s
};

/// A cell with everything needed to measure it.
struct CellRun {
    std::size_t index; // of the cell
    Cell cell;
    PlannedOperation planned;
    std::shared_ptr<AlgorithmInForce> barrier; // algorithm of the synchronizer's MPI_Barrier; declared before it
    std::shared_ptr<Synchronizer> synchronizer;
    std::shared_ptr<Timing> timing;
    PlannedDelays delays;
    std::shared_ptr<StoppingRule> stopping;
    double duration = 0.0; // estimated time from a start to the exit stamp, s
    long next_samples = 0; // valid samples that the next block needs; 0: the cell is complete
    long attempts = 0;     // samples so far, without warm-up
    CellRecord record;     // filled on rank 0 only
};

/// Collective. The number of valid samples that the next block needs; 0 if the cell is complete.
inline long next_block(const Communicator &comm, const CellRun &run) {
    return comm.on_root([&] { return run.stopping->next_block(run.record.progress()); });
}

/// Makes the cell runs of a launch, and owns the communicators and chosen algorithms that they share. It must outlive
/// the cell runs.
class LaunchPlan {
public:
    /// Collective.
    LaunchPlan(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed);
    ~LaunchPlan();
    LaunchPlan(const LaunchPlan &) = delete;
    LaunchPlan &operator=(const LaunchPlan &) = delete;

    /// Collective. Makes a cell run for each combination of operation, size, algorithm, synchronizer, timing scheme,
    /// algorithm of the synchronizer's barrier, pattern and delay, in the order of the command line. Runs every
    /// operation to estimate its duration. Throws Error if an operation cannot run.
    std::vector<CellRun> cell_runs();

    /// The chosen algorithms: name, for example "reduce[binary]", and how the choice was made and checked.
    const std::vector<std::pair<std::string, std::string>> &algorithms() const { return algorithm_evidence_; }

private:
    /// Collective. Makes the arrival patterns, and sets this rank's position in them.
    void make_patterns();
    /// Collective. Adds the cells of an operation with a size (bytes) and an algorithm to runs_.
    void add_cells(const RequestedOperation &operation, std::uint64_t size, const std::string &algorithm);
    /// Collective. Adds `cell`, whose other members are set, with each pattern and each of its delays.
    void add_patterns(Cell cell, const PlannedOperation &planned, const RequestedStart &timing);
    /// Collective. Adds `cell`, whose delay is set, with the pattern of this index in options_.patterns.
    void add_cell(Cell cell, const PlannedOperation &planned, const RequestedStart &start, std::size_t pattern);
    /// The algorithms to measure for the MPI_Barrier of a synchronizer; the default if it does not call MPI_Barrier.
    std::vector<std::string> barrier_algorithms(const Component &synchronizer) const;
    /// Collective. Chooses an algorithm; calls with the same arguments share the choice. Throws Error if the choice
    /// would not take effect.
    std::shared_ptr<AlgorithmInForce> choose(const std::string &collective, const std::string &algorithm);
    /// Collective. Runs `call` with the algorithm. Throws Error::everywhere if a rank's library refuses it; `what`
    /// begins the message.
    void try_out(AlgorithmInForce &algorithm, const std::string &what, const std::function<void()> &call) const;
    /// Collective. Tries out the algorithms of the synchronizers' MPI_Barrier.
    void try_barriers();
    /// Collective. Makes an operation of `size` bytes, tries out its algorithm, and estimates its time.
    PlannedOperation plan_operation(const RequestedOperation &operation, std::uint64_t size,
                                    const std::string &algorithm);
    /// Collective. The median time of a call, s, from a few calls.
    double estimate_time(Operation &operation);

    const Communicator &comm_;
    const GlobalClock &clock_;
    const Options &options_;
    std::uint64_t seed_;                                          // for random patterns and for positions in them
    MPI_Comm messages_ = MPI_COMM_NULL;                           // for messages of the synchronizers
    HarmonizedComms harmonized_;                                  // communicators of synchronizer harmonize
    std::vector<std::shared_ptr<const ArrivalPattern>> patterns_; // in the order of options_.patterns
    int position_ = 0;                                            // of this rank in the patterns
    // Choices of algorithms, by names of collective and algorithm.
    std::map<std::pair<std::string, std::string>, std::shared_ptr<AlgorithmInForce>> chosen_;
    std::vector<std::pair<std::string, std::string>> algorithm_evidence_; // see algorithms()
    std::vector<CellRun> runs_;                                           // result of cell_runs() while it runs
};

} // namespace bench
