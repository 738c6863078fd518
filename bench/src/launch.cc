#include "launch.h"

#include "names.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

// Samples between two looks at the clocks' age, and in the memory of every rank at a time.
constexpr long largest_batch = 1000;

} // namespace

std::vector<Cell> list_cells(const Options &options) {
    std::vector<Cell> cells;
    for (const std::string &name : options.operations) {
        const OperationInfo &operation = find_by_name(all_operations(), name);
        const std::vector<std::uint64_t> sizes = operation.sized ? options.sizes : std::vector<std::uint64_t>{0};
        for (const std::uint64_t size : sizes) {
            for (const std::string &synchronizer : options.synchronizers) {
                cells.push_back({name, size, operation.datatype(size), synchronizer});
            }
        }
    }
    return cells;
}

Launch::Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed,
               std::vector<std::unique_ptr<Reporter>> &reporters)
    : comm_(comm), options_(options), tolerance_(clock.tolerance()), reporters_(reporters), cells_(list_cells(options)),
      blocks_(plan_blocks(cells_.size(), options.repetitions, seed)), sampler_(comm, clock, options.warmup),
      progress_(options.quiet, blocks_.size()) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        records_.emplace_back(i, cells_[i], options.repetitions);
    }
    make_runners();
}

void Launch::make_runners() {
    std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<Operation>> operations;
    std::map<std::string, std::shared_ptr<Synchronizer>> synchronizers;
    for (const Cell &cell : cells_) {
        // The cells of one operation and size share their buffers, so that synchronizers are compared on the same
        // memory.
        std::shared_ptr<Operation> &operation = operations[{cell.operation, cell.size}];
        if (!operation) {
            operation = find_by_name(all_operations(), cell.operation).make({comm_.handle(), cell.size, options_.root});
        }
        std::shared_ptr<Synchronizer> &synchronizer = synchronizers[cell.synchronizer];
        if (!synchronizer) {
            synchronizer = find_by_name(all_synchronizers(), cell.synchronizer).make(comm_.handle());
        }
        runners_.push_back({operation, synchronizer});
    }
}

std::vector<CellResult> Launch::run() {
    for (std::size_t position = 0; position < blocks_.size(); ++position) {
        measure(blocks_[position], position);
    }
    std::sort(results_.begin(), results_.end(),
              [](const CellResult &a, const CellResult &b) { return a.index < b.index; });
    return results_;
}

void Launch::measure(const Block &block, std::size_t position) {
    const Runner &runner = runners_[block.cell];
    long missing = block.samples;
    long attempts_left = block.samples * options_.max_attempts;
    while (missing > 0 && attempts_left > 0) {
        const long count = std::min({missing, attempts_left, largest_batch});
        const Batch batch = sampler_.sample(*runner.synchronizer, *runner.operation, count);
        missing -= comm_.on_root([&] { return take(batch, block.cell, position); });
        attempts_left -= count;
    }
    comm_.on_root([&] {
        if (block.last) {
            results_.push_back(records_[block.cell].summarize());
            for (const auto &reporter : reporters_) {
                reporter->cell(results_.back());
            }
        }
        progress_.update(position + 1, fmt::format("{} of {} cells complete, {} samples rejected", results_.size(),
                                                   cells_.size(), rejected_));
        return 0;
    });
}

long Launch::take(const Batch &batch, std::size_t cell, std::size_t position) {
    std::vector<Verdict> verdicts;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        verdicts.push_back(judge(batch[i], tolerance_));
    }
    const BatchReport report{cell, position, records_[cell].attempts(), batch, verdicts};
    for (const auto &reporter : reporters_) {
        reporter->samples(report);
    }
    records_[cell].add(batch, verdicts);
    const long valid = std::count(verdicts.begin(), verdicts.end(), Verdict::valid);
    rejected_ += static_cast<long>(verdicts.size()) - valid;
    return valid;
}

} // namespace bench
