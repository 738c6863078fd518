#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "rules/cell.h"
#include "rules/warmup_rule.h"
#include "run/launch_plan.h"
#include "run/neighbor_round_trip.h"
#include "run/options.h"
#include "run/sampler.h"
#include "text/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The results of a launch, at rank 0. Some are compared with a reference, i.e. another cell of the launch: these are
/// reported when the reference is complete.
class CompletedCells {
public:
    /// `cells`: all cells of the launch.
    CompletedCells(std::vector<Cell> cells, const LaunchListeners &listeners)
        : cells_(std::move(cells)), listeners_(listeners) {}

    void add(CellResult result);

    /// Complete and reported.
    std::size_t count() const { return results_.size(); }

    /// All results, in the order of the cells.
    std::vector<CellResult> take();

private:
    void report();
    const CellResult *find(std::size_t index) const;
    /// Compares a result with that of its reference cell. False if the reference is not complete yet.
    bool compare(CellResult &result, bool (*same)(const Cell &, const Cell &), bool (*is_reference)(const Cell &),
                 void (*fill_in)(CellResult &, const CellResult &)) const;

    std::vector<Cell> cells_;
    const LaunchListeners &listeners_;
    std::vector<CellResult> waiting_; // complete, but for what they are compared with
    std::vector<CellResult> results_;
};

/// At rank 0: the run's exit status; if a cell lacks samples, prints one line with the cell and the remedy.
ExitStatus judge_run(const std::vector<CellResult> &results);

/// All measurements of one run: every cell, block by block. In every round each incomplete cell gets one block, in
/// random order, so that a temporary disturbance affects parts of many cells.
class Launch {
public:
    /// Collective.
    Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed);

    /// Collective. Prepares all cells, and runs each operation to estimate its duration. Throws Error if something
    /// cannot run.
    void prepare();

    /// All cells, after prepare(), in the order of the command line. On all ranks.
    std::vector<Cell> cells() const;

    /// The algorithms that were chosen, for example "reduce[binary]", and how it is known that they hold.
    const std::vector<std::pair<std::string, std::string>> &algorithms() const { return plan_.algorithms(); }

    /// Collective. The results of all cells, in that order, at rank 0. `listeners` hear of samples
    /// and cells as they come.
    std::vector<CellResult> run(const LaunchListeners &listeners);

private:
    void measure_block(CellRun &run);
    void validate(CellRun &run);
    /// Attempts of the next batch to discard.
    long warm_up(CellRun &run);
    Batch sample(CellRun &run, long first, long count);
    /// The number of valid samples; the first `discarded` are warm-up.
    long take(const Batch &batch, CellRun &run, long discarded);
    /// As far as the stopping rule knows, at rank 0.
    std::size_t blocks_left() const;

    const Communicator &comm_;
    const Options &options_;
    std::uint64_t seed_;
    std::unique_ptr<WarmupRule> warmup_;
    LaunchPlan plan_;           // outlives the runs
    std::vector<CellRun> runs_; // synchronizers may communicate when they are destroyed
    Sampler sampler_;
    NeighborRoundTrip round_trip_;
    StartLimits limits_;

    // At rank 0:
    const LaunchListeners *listeners_ = nullptr;
    long rejected_ = 0;
    double last_round_trip_ = 0.0; // the last: before the block under way
    std::size_t position_ = 0;     // of the block in the order of the launch
};

} // namespace bench
