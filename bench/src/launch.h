#pragma once

#include "cell.h"
#include "communicator.h"
#include "global_clock.h"
#include "operation.h"
#include "options.h"
#include "plan.h"
#include "progress.h"
#include "reporter.h"
#include "sampler.h"
#include "synchronizer.h"

#include <map>
#include <memory>
#include <vector>

namespace bench {

/// Operation x size x synchronizer, in the order of the command line.
std::vector<Cell> list_cells(const Options &options);

/// All measurements of one run: every cell, block by block in random order.
class Launch {
public:
    /// `reporters` is empty but at rank 0.
    Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed,
           std::vector<std::unique_ptr<Reporter>> &reporters);

    /// Collective. The results of all cells, in the order of list_cells, at rank 0.
    std::vector<CellResult> run();

private:
    struct Runner {
        std::shared_ptr<Operation> operation;
        std::shared_ptr<Synchronizer> synchronizer;
    };

    void make_runners();
    void measure(const Block &block, std::size_t position);
    long take(const Batch &batch, std::size_t cell, std::size_t position);

    const Communicator &comm_;
    const Options &options_;
    double tolerance_; // seconds
    std::vector<std::unique_ptr<Reporter>> &reporters_;
    std::vector<Cell> cells_;
    std::vector<Block> blocks_;
    std::vector<Runner> runners_;     // per cell
    std::vector<CellRecord> records_; // per cell; filled at rank 0
    std::vector<CellResult> results_;
    Sampler sampler_;
    Progress progress_;
    long rejected_ = 0;
};

} // namespace bench
