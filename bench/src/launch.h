#pragma once

#include "algorithm.h"
#include "cell.h"
#include "communicator.h"
#include "global_clock.h"
#include "operation.h"
#include "options.h"
#include "planned_delays.h"
#include "progress.h"
#include "reporter.h"
#include "sampler.h"
#include "stopping_rule.h"
#include "synchronizer.h"
#include "timing.h"
#include "warmup_rule.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Reporters = std::vector<std::unique_ptr<Reporter>>;

/// All measurements of one run: every cell, block by block. In every round each cell that is not complete gets one
/// block, in random order, so that what disturbs the machine for a while falls on parts of many cells.
class Launch {
public:
    /// Collective. Makes all that is to run. Throws Error where something cannot be.
    Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed);
    ~Launch();
    Launch(const Launch &) = delete;
    Launch &operator=(const Launch &) = delete;

    /// Operation x size x algorithm x synchronizer x timing scheme x algorithm of its barrier x pattern x delay, in the
    /// order of the command line. On all ranks.
    std::vector<Cell> cells() const;

    /// The algorithms that were chosen, as "reduce[binary]", and how it is known that they hold.
    const std::vector<std::pair<std::string, std::string>> &algorithms() const { return algorithm_evidence_; }

    /// Collective. The results of all cells, in that order, at rank 0. `reporters` is empty but there.
    std::vector<CellResult> run(const Reporters &reporters);

private:
    struct Subject {                                 // an operation with a size and an algorithm
        std::shared_ptr<AlgorithmInForce> algorithm; // outlives the operation, which uses its communicator
        std::shared_ptr<Operation> operation;
        double time; // seconds that it takes, estimated
    };
    struct Runner { // all that a cell needs
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
        long attempts = 0;     // warm-up apart
        CellRecord record;     // filled at rank 0
    };

    void make_patterns();
    void add_cells(const AskedOperation &operation, std::uint64_t size, const std::string &algorithm);
    void add_patterns(Cell cell, const Subject &subject, const SynchronizedTiming &timing);
    void add_cell(Cell cell, const Subject &subject, const SynchronizedTiming &start, std::size_t pattern);
    std::vector<std::string> barrier_algorithms(const Part &synchronizer) const;
    /// Collective. The same choice is made once. Throws Error where it would not hold.
    std::shared_ptr<AlgorithmInForce> choose(const std::string &collective, const std::string &algorithm);
    /// Collective. Throws Error::everywhere where the library refuses to run it so.
    void try_out(AlgorithmInForce &algorithm, const std::string &what, const std::function<void()> &call) const;
    void try_barriers();
    Subject make_subject(const AskedOperation &operation, std::uint64_t size, const std::string &algorithm);
    double estimate_time(Operation &operation);

    long next_block(const Runner &runner) const;
    void measure_block(Runner &runner);
    void validate(Runner &runner);
    /// Returns how many attempts of the next batch are to be discarded.
    long warm_up(Runner &runner);
    Batch sample(Runner &runner, long first, long count);
    /// The number of valid samples; the first `discarded` are warm-up.
    long take(const Batch &batch, Runner &runner, long discarded);
    void complete(const Runner &runner);
    void report_completed();
    const CellResult *result_of(const Runner &runner) const;
    /// Compares a result with that of its reference: of the same but for what makes a reference. False where that is
    /// not there yet.
    bool compare(CellResult &result, bool (*same)(const Cell &, const Cell &), bool (*is_reference)(const Cell &),
                 void (*fill_in)(CellResult &, const CellResult &)) const;

    const Communicator &comm_;
    const GlobalClock &clock_;
    const Options &options_;
    std::uint64_t seed_;
    MPI_Comm messages_ = MPI_COMM_NULL; // of the synchronizers
    std::vector<std::shared_ptr<const ArrivalPattern>> patterns_;
    int place_ = 0; // of this rank in patterns
    std::unique_ptr<WarmupRule> warmup_;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<AlgorithmInForce>> chosen_; // by collective and name
    std::vector<std::pair<std::string, std::string>> algorithm_evidence_;
    std::vector<Runner> runners_;
    Sampler sampler_;

    // At rank 0:
    const Reporters *reporters_ = nullptr;
    std::vector<CellResult> waiting_; // complete, but for what they are compared with
    std::vector<CellResult> results_; // complete and reported
    long rejected_ = 0;
    std::size_t position_ = 0; // of the block in the order of the launch
};

} // namespace bench
