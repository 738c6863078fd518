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
    std::shared_ptr<AlgorithmInForce> algorithm; // outlives the operation, which uses its communicator
    std::shared_ptr<Operation> operation;
    double time; // seconds that it takes, estimated
};

/// A cell with everything needed to measure it.
struct CellRun {
    std::size_t index;
    Cell cell;
    PlannedOperation planned;
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
inline long next_block(const Communicator &comm, const CellRun &run) {
    return comm.on_root([&] { return run.stopping->next_block(run.record.progress()); });
}

/// What a launch measures. Makes its cell runs, and owns the communicators and algorithms in force that they share. So
/// it outlives them.
class LaunchPlan {
public:
    /// Collective.
    LaunchPlan(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed);
    ~LaunchPlan();
    LaunchPlan(const LaunchPlan &) = delete;
    LaunchPlan &operator=(const LaunchPlan &) = delete;

    /// Collective. Operation x size x algorithm x synchronizer x timing scheme x algorithm of its barrier x pattern x
    /// delay, in the order of the command line. Runs every operation, to estimate how long it takes. Throws Error if
    /// something cannot run.
    std::vector<CellRun> cell_runs();

    /// The algorithms that were chosen, for example "reduce[binary]", and how it is known that they hold.
    const std::vector<std::pair<std::string, std::string>> &algorithms() const { return algorithm_evidence_; }

private:
    void make_patterns();
    void add_cells(const AskedOperation &operation, std::uint64_t size, const std::string &algorithm);
    void add_patterns(Cell cell, const PlannedOperation &planned, const AskedStart &timing);
    void add_cell(Cell cell, const PlannedOperation &planned, const AskedStart &start, std::size_t pattern);
    std::vector<std::string> barrier_algorithms(const Component &synchronizer) const;
    /// Collective. Each choice is made only once. Throws Error if it would not take effect.
    std::shared_ptr<AlgorithmInForce> choose(const std::string &collective, const std::string &algorithm);
    /// Collective. Throws Error::everywhere if the library refuses to run it.
    void try_out(AlgorithmInForce &algorithm, const std::string &what, const std::function<void()> &call) const;
    void try_barriers();
    PlannedOperation plan_operation(const AskedOperation &operation, std::uint64_t size, const std::string &algorithm);
    double estimate_time(Operation &operation);

    const Communicator &comm_;
    const GlobalClock &clock_;
    const Options &options_;
    std::uint64_t seed_;
    MPI_Comm messages_ = MPI_COMM_NULL; // of the synchronizers
    HarmonizedComms harmonized_;
    std::vector<std::shared_ptr<const ArrivalPattern>> patterns_;
    int place_ = 0; // of this rank in patterns
    std::map<std::pair<std::string, std::string>, std::shared_ptr<AlgorithmInForce>> chosen_; // by collective and name
    std::vector<std::pair<std::string, std::string>> algorithm_evidence_;
    std::vector<CellRun> runs_; // made so far
};

} // namespace bench
