// Makes the cells of a run from its options (launch_plan.h).
#include "run/launch_plan.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "operations/operation.h"
#include "synchronizers/synchronizer.h"
#include "text/words.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

// Number of calls for the estimate of an operation's time, after the same number of warm-up calls.
constexpr std::size_t estimate_calls = 20;
// Number of calls if a call takes longer than `min_slow_time`, e.g. 12 ms with more ranks than processors with MPICH,
// and in simulations, where simulating a call of 4,096 ranks may take seconds and calls do not vary.
constexpr std::size_t slow_estimate_calls = 2;
constexpr double min_slow_time = 1e-3; // s

} // namespace

LaunchPlan::LaunchPlan(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed)
    : comm_(comm), clock_(clock), options_(options), seed_(seed), harmonized_(comm, clock) {
    check(MPI_Comm_dup(comm.handle(), &messages_), "MPI_Comm_dup");
}

LaunchPlan::~LaunchPlan() {
    chosen_.clear();
    MPI_Comm_free(&messages_);
}

std::vector<CellRun> LaunchPlan::cell_runs() {
    runs_.clear();
    make_patterns();
    try_barriers();
    for (const RequestedOperation &operation : options_.operations) {
        for (const std::uint64_t size : operation.info.sized() ? options_.sizes : std::vector<std::uint64_t>{0}) {
            for (const std::string &algorithm : options_.algorithms.of(operation.component.name())) {
                add_cells(operation, size, algorithm);
            }
        }
    }
    return std::move(runs_);
}

void LaunchPlan::make_patterns() {
    const std::vector<int> nodes = number_nodes(comm_);
    const auto read = [this](const std::string &path) { return read_everywhere(comm_, path); };
    for (const Component &component : options_.patterns) {
        patterns_.push_back(
            find_by_name(all_patterns(), component.name()).make({component, comm_.size(), nodes, seed_, read}));
    }
    position_ = options_.permuted ? permuted_positions(comm_.size(), seed_)[static_cast<std::size_t>(comm_.rank())]
                                  : comm_.rank();
}

std::shared_ptr<AlgorithmInForce> LaunchPlan::choose(const std::string &collective, const std::string &algorithm) {
    std::shared_ptr<AlgorithmInForce> &chosen = chosen_[{collective, algorithm}];
    if (chosen) {
        return chosen;
    }
    if (algorithm == default_algorithm) {
        chosen = std::make_shared<AlgorithmInForce>(comm_.handle(), "the library's own choice");
        return chosen;
    }
    // Not null, and found below: check_algorithms() has checked the choices.
    const AlgorithmFamily &family = *options_.algorithms.family;
    const SelectableCollective &selectable = *find_collective(family, collective);
    chosen = family.choose(comm_, selectable, find_by_name(selectable.algorithms, algorithm));
    algorithm_evidence_.emplace_back(fmt::format("{}[{}]", collective, algorithm), chosen->evidence());
    return chosen;
}

void LaunchPlan::try_out(AlgorithmInForce &algorithm, const std::string &what,
                         const std::function<void()> &call) const {
    std::string refusal;
    try {
        const AlgorithmScope scope(algorithm, /*strict=*/true);
        call();
    } catch (const Error &error) {
        refusal = error.what();
    }
    const std::vector<std::string> refusals = comm_.gather(refusal);
    comm_.on_root([&] {
        for (std::size_t rank = 0; rank < refusals.size(); ++rank) {
            if (!refusals[rank].empty()) {
                throw Error::here(
                    fmt::format("{} cannot run on {} ranks: rank {}: {}", what, comm_.size(), rank, refusals[rank]));
            }
        }
        return 0;
    });
}

void LaunchPlan::try_barriers() {
    for (const std::string &algorithm : options_.algorithms.barrier) {
        if (algorithm != default_algorithm) {
            const auto chosen = choose("barrier", algorithm);
            try_out(*chosen, fmt::format("barrier[{}]", algorithm),
                    [&] { check(MPI_Barrier(chosen->comm()), "MPI_Barrier"); });
        }
    }
}

std::vector<std::string> LaunchPlan::barrier_algorithms(const Component &synchronizer) const {
    const bool calls = find_by_name(all_synchronizers(), synchronizer.name()).calls_mpi_barrier(synchronizer);
    return calls ? options_.algorithms.barrier : std::vector<std::string>{default_algorithm};
}

PlannedOperation LaunchPlan::plan_operation(const RequestedOperation &operation, std::uint64_t size,
                                            const std::string &algorithm) {
    PlannedOperation planned;
    planned.algorithm = choose(operation.component.name(), algorithm);
    {
        // MPI chooses a persistent operation's algorithm at its creation.
        const AlgorithmScope scope(*planned.algorithm);
        planned.operation = operation.info.make({planned.algorithm->comm(), size, operation.component});
    }
    if (algorithm != default_algorithm) {
        try_out(*planned.algorithm, fmt::format("{}[{}] of {} bytes", operation.component.name(), algorithm, size),
                [&] { planned.operation->run(); });
    }
    const AlgorithmScope scope(*planned.algorithm);
    planned.time = estimate_time(*planned.operation);
    planned.operation->choose_computation(planned.time);
    if (planned.operation->computation() > 0.0) {
        planned.time = estimate_time(*planned.operation);
    }
    return planned;
}

double LaunchPlan::estimate_time(Operation &operation) {
    // The time of each call, s, on the slowest rank.
    const auto time_calls = [&](std::size_t calls) {
        std::vector<double> times;
        for (std::size_t i = 0; i < calls; ++i) {
            check(MPI_Barrier(comm_.handle()), "MPI_Barrier");
            operation.prepare();
            const double begin = clock_.now();
            operation.run();
            times.push_back(clock_.now() - begin);
        }
        check(MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(calls), MPI_DOUBLE, MPI_MAX, comm_.handle()),
              "MPI_Allreduce");
        return times;
    };
    time_calls(1); // the first call may take much longer
    const bool is_slow = is_simulated() || time_calls(1).front() > min_slow_time;
    const std::size_t calls = is_slow ? slow_estimate_calls : estimate_calls;
    time_calls(calls); // to warm up
    return summarize(time_calls(calls)).median;
}

void LaunchPlan::add_cells(const RequestedOperation &operation, std::uint64_t size, const std::string &algorithm) {
    // Cells that differ only in the synchronizer, timing scheme or pattern share the operation and its buffers, so that
    // they are compared on the same memory.
    const PlannedOperation planned = plan_operation(operation, size, algorithm);
    Cell cell;
    cell.operation = operation.component.text();
    cell.algorithm = algorithm;
    cell.size = size;
    cell.size_meaning = operation.info.size_meaning;
    cell.datatype = operation.info.datatype(operation.component, size);
    cell.computation = planned.operation->computation();
    cell.pure_operation =
        operation.info.computes ? without_computation(operation.component, operation.info).text() : cell.operation;
    for (const RequestedStart &timing : options_.timings) {
        for (const std::string &barrier : barrier_algorithms(timing.synchronizer)) {
            cell.barrier_algorithm = barrier;
            add_patterns(cell, planned, timing);
        }
    }
}

void LaunchPlan::add_patterns(Cell cell, const PlannedOperation &planned, const RequestedStart &timing) {
    for (std::size_t pattern = 0; pattern < patterns_.size(); ++pattern) {
        // Without --delay, all patterns except "none" have recorded delays (check_delays in options.cc).
        if (options_.patterns[pattern].name() == no_pattern || options_.delays.empty()) {
            cell.delay = patterns_[pattern]->recorded_delay().value_or(0.0);
            add_cell(cell, planned, timing, pattern);
            continue;
        }
        for (const RequestedDelay &delay : options_.delays) {
            cell.delay = delay.seconds ? *delay.seconds : *delay.multiple * planned.time;
            add_cell(cell, planned, timing, pattern);
        }
    }
}

void LaunchPlan::add_cell(Cell cell, const PlannedOperation &planned, const RequestedStart &start,
                          std::size_t pattern) {
    const auto &[synchronizer, timing] = start;
    const std::shared_ptr<AlgorithmInForce> barrier = choose("barrier", cell.barrier_algorithm);
    cell.synchronizer = synchronizer.text();
    cell.timing = timing.text();
    cell.pattern = options_.patterns[pattern].text();
    CellRun run{.index = runs_.size(),
                .cell = cell,
                .planned = planned,
                .barrier = barrier,
                .synchronizer = find_by_name(all_synchronizers(), synchronizer.name())
                                    .make({comm_, clock_, messages_, barrier->comm(), harmonized_, synchronizer}),
                .timing = find_by_name(all_timings(), timing.name()).make(timing),
                .delays = PlannedDelays(patterns_[pattern], cell.delay, position_),
                .stopping = nullptr,
                .record = CellRecord(runs_.size(), cell)};
    const auto budget = run.synchronizer->budget();
    const Component stopping =
        budget ? parse_component("stopping rule", fmt::format("budget(time={}ns)", std::llround(*budget * 1e9)),
                                 all_stopping_rules())
               : options_.stopping;
    run.stopping = find_by_name(all_stopping_rules(), stopping.name()).make(stopping);
    // A timing scheme that synchronizes has a start per call.
    const long calls_per_start = run.timing->synchronizes() ? 1 : run.timing->calls();
    run.duration = cell.delay + planned.time * static_cast<double>(calls_per_start);
    run.next_samples = next_block(comm_, run);
    runs_.push_back(std::move(run));
}

} // namespace bench
