// Measures all cells of a run ("launch"). The cells are measured in blocks of samples, in rounds: in each round every
// incomplete cell gets a block, in random order, so that a temporary disturbance affects a few blocks of many cells.
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

/// Collects the results of completed cells and reports them to listeners. Rank 0 only. A cell with delays or
/// computation is compared with a reference, i.e. the cell without; it is reported when the reference is complete.
class CompletedCells {
public:
    /// `cells`: all cells of the launch.
    CompletedCells(std::vector<Cell> cells, const LaunchListeners &listeners)
        : cells_(std::move(cells)), listeners_(listeners) {}

    /// Adds the result of a complete cell. Reports it, and results that waited for it, if their references are known.
    void add(CellResult result);

    /// The number of reported results.
    std::size_t count() const { return results_.size(); }

    /// Hands out all results, in the order of the cells. Call it once, at the end.
    std::vector<CellResult> take();

private:
    /// Reports the waiting results whose references are complete.
    void report();
    /// The reported result of the cell with this index; nullptr if it is not reported yet.
    const CellResult *find(std::size_t index) const;
    /// Compares a result with that of its reference cell, if it has one. The reference is the cell that `is_reference`
    /// accepts and that is the `same` otherwise; `fill_in` writes the comparison into the result. Returns false if the
    /// reference is not complete.
    bool compare(CellResult &result, bool (*same)(const Cell &, const Cell &), bool (*is_reference)(const Cell &),
                 void (*fill_in)(CellResult &, const CellResult &)) const;

    std::vector<Cell> cells_;
    const LaunchListeners &listeners_;
    std::vector<CellResult> waiting_; // complete, but their references are not
    std::vector<CellResult> results_; // reported
};

/// Returns the exit status of a run. Rank 0 only. If cells are incomplete or have wrong results, prints an error that
/// names them, with a remedy.
ExitStatus judge_run(const std::vector<CellResult> &results);

/// The measurements of a run.
class Launch {
public:
    /// Collective.
    Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed);

    /// Collective. Prepares all cells, and runs each operation to estimate its duration. Throws Error if an operation
    /// cannot run.
    void prepare();

    /// All cells, in the order of the command line. Call it after prepare(). The same on all ranks.
    std::vector<Cell> cells() const;

    /// The chosen algorithms: name, for example "reduce[binary]", and how the choice was made and checked.
    const std::vector<std::pair<std::string, std::string>> &algorithms() const { return plan_.algorithms(); }

    /// Collective. Measures all cells. Calls `listeners` after each batch of samples and each completed cell. Returns
    /// the results in the order of cells() on rank 0, and an empty vector on other ranks.
    std::vector<CellResult> run(const LaunchListeners &listeners);

private:
    /// Measures the next block of a cell, and decides on the block after it (run.next_samples).
    void measure_block(CellRun &run);
    /// Checks the results of calls of a cell, if its operation can check them.
    void validate(CellRun &run);
    /// Runs the warm-up calls of a block if their number depends on their times. Returns the number of warm-up calls
    /// that the caller adds to the first batch of the block; 0 if the warm-up is done.
    long warm_up(CellRun &run);
    /// Measures `count` samples, from index `first` in the cell on (negative for warm-up).
    Batch sample(CellRun &run, long first, long count);
    /// Judges and records a batch. Its first `discarded` samples are warm-up. Returns the number of valid
    /// samples.
    long record(const Batch &batch, CellRun &run, long discarded);
    /// The estimated number of blocks until all cells are complete. Rank 0 only.
    std::size_t blocks_left() const;

    const Communicator &comm_;
    const Options &options_;
    std::uint64_t seed_; // for the order of blocks
    std::unique_ptr<WarmupRule> warmup_;
    LaunchPlan plan_;              // declared before runs_, because it must outlive them
    std::vector<CellRun> runs_;    // the cells, in the order of the command line; empty before prepare()
    Sampler sampler_;              // measures batches of samples
    NeighborRoundTrip round_trip_; // measured between blocks
    StartLimits limits_;           // starts that are further off are rejected

    // Rank 0 only:
    const LaunchListeners *listeners_ = nullptr;
    long rejected_ = 0;            // samples
    double last_round_trip_ = 0.0; // round trip before the current block, s; NaN if not measured
    std::size_t block_ = 0;        // index of the current block in this launch
};

} // namespace bench
