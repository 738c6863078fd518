#include "launch.h"

#include "computation.h"
#include "everywhere.h"
#include "metric.h"
#include "mpi_check.h"
#include "names.h"
#include "shuffle.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace bench {
namespace {

// Samples between two looks at the clocks' age, and in the memory of every rank at a time.
constexpr long largest_batch = 1000;

// Calls from which the time of an operation is estimated, after as many that do not count.
constexpr std::size_t estimate_calls = 20;
// The same where the first call takes longer than this, as with more ranks than processors under MPICH, 12 ms.
constexpr std::size_t slow_estimate_calls = 2;
constexpr double slow = 1e-3; // s

using Seconds = std::chrono::duration<double>;

} // namespace

Launch::Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed)
    : comm_(comm), clock_(clock), options_(options), seed_(seed),
      warmup_(find_by_name(all_warmup_rules(), options.warmup.name()).make(options.warmup)),
      sampler_(comm, clock, options.observed) {
    check(MPI_Comm_dup(comm.handle(), &messages_), "MPI_Comm_dup");
    make_patterns();
    try_barriers();
    for (const AskedOperation &operation : options.operations) {
        for (const std::uint64_t size : operation.info.sized() ? options.sizes : std::vector<std::uint64_t>{0}) {
            for (const std::string &algorithm : options.algorithms.of(operation.part.name())) {
                add_cells(operation, size, algorithm);
            }
        }
    }
}

Launch::~Launch() {
    runners_.clear(); // synchronizers may have something to say to each other
    chosen_.clear();
    MPI_Comm_free(&messages_);
}

void Launch::make_patterns() {
    const std::vector<int> nodes = number_nodes(comm_);
    const auto read = [this](const std::string &path) { return read_everywhere(comm_, path); };
    for (const Part &part : options_.patterns) {
        patterns_.push_back(find_by_name(all_patterns(), part.name()).make({part, comm_.size(), nodes, seed_, read}));
    }
    place_ =
        options_.permute ? permuted_places(comm_.size(), seed_)[static_cast<std::size_t>(comm_.rank())] : comm_.rank();
}

std::shared_ptr<AlgorithmInForce> Launch::choose(const std::string &collective, const std::string &algorithm) {
    std::shared_ptr<AlgorithmInForce> &chosen = chosen_[{collective, algorithm}];
    if (chosen) {
        return chosen;
    }
    if (algorithm == default_algorithm) {
        chosen = std::make_shared<AlgorithmInForce>(comm_.handle(), "the library's own choice");
        return chosen;
    }
    const AlgorithmFamily &family = *options_.algorithms.family;
    const SelectableCollective &selectable = *find_collective(family, collective);
    chosen = family.choose(comm_, selectable, find_by_name(selectable.algorithms, algorithm));
    algorithm_evidence_.emplace_back(fmt::format("{}[{}]", collective, algorithm), chosen->evidence());
    return chosen;
}

void Launch::try_out(AlgorithmInForce &algorithm, const std::string &what, const std::function<void()> &call) const {
    std::string refusal;
    try {
        const AlgorithmScope scope(algorithm, true);
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

void Launch::try_barriers() {
    for (const std::string &algorithm : options_.algorithms.barrier) {
        if (algorithm != default_algorithm) {
            const auto chosen = choose("barrier", algorithm);
            try_out(*chosen, fmt::format("barrier[{}]", algorithm),
                    [&] { check(MPI_Barrier(chosen->comm()), "MPI_Barrier"); });
        }
    }
}

std::vector<std::string> Launch::barrier_algorithms(const Part &synchronizer) const {
    const bool calls = find_by_name(all_synchronizers(), synchronizer.name()).calls_mpi_barrier(synchronizer);
    return calls ? options_.algorithms.barrier : std::vector<std::string>{default_algorithm};
}

Launch::Subject Launch::make_subject(const AskedOperation &operation, std::uint64_t size,
                                     const std::string &algorithm) {
    Subject subject;
    subject.algorithm = choose(operation.part.name(), algorithm);
    {
        const AlgorithmScope scope(*subject.algorithm); // persistent operations choose when they are made
        subject.operation = operation.info.make({subject.algorithm->comm(), size, operation.part});
    }
    if (algorithm != default_algorithm) {
        try_out(*subject.algorithm, fmt::format("{}[{}] of {} bytes", operation.part.name(), algorithm, size),
                [&] { subject.operation->run(); });
    }
    const AlgorithmScope scope(*subject.algorithm);
    subject.time = estimate_time(*subject.operation);
    subject.operation->choose_computation(subject.time);
    if (subject.operation->computation() > 0.0) {
        subject.time = estimate_time(*subject.operation);
    }
    return subject;
}

double Launch::estimate_time(Operation &operation) {
    // Seconds of so many calls, each of the slowest rank.
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
    time_calls(1);
    const std::size_t calls = time_calls(1).front() > slow ? slow_estimate_calls : estimate_calls;
    time_calls(calls);
    return summarize(time_calls(calls)).median;
}

void Launch::add_cells(const AskedOperation &operation, std::uint64_t size, const std::string &algorithm) {
    // The cells of one operation, size and algorithm share their buffers, so that synchronizers are compared on the
    // same memory.
    const Subject subject = make_subject(operation, size, algorithm);
    Cell cell;
    cell.operation = operation.part.text();
    cell.algorithm = algorithm;
    cell.size = size;
    cell.size_meaning = operation.info.size_meaning;
    cell.datatype = operation.info.datatype(operation.part, size);
    cell.computation = subject.operation->computation();
    cell.pure_operation =
        operation.info.computes ? without_computation(operation.part, operation.info).text() : cell.operation;
    for (const SynchronizedTiming &timing : options_.timings) {
        for (const std::string &barrier : barrier_algorithms(timing.synchronizer)) {
            cell.barrier_algorithm = barrier;
            add_patterns(cell, subject, timing);
        }
    }
}

void Launch::add_patterns(Cell cell, const Subject &subject, const SynchronizedTiming &timing) {
    for (std::size_t pattern = 0; pattern < patterns_.size(); ++pattern) {
        if (options_.patterns[pattern].name() == no_pattern || options_.delays.empty()) {
            cell.delay = patterns_[pattern]->own_delay().value_or(0.0);
            add_cell(cell, subject, timing, pattern);
            continue;
        }
        for (const AskedDelay &delay : options_.delays) {
            cell.delay = delay.seconds ? *delay.seconds : *delay.multiple * subject.time;
            add_cell(cell, subject, timing, pattern);
        }
    }
}

void Launch::add_cell(Cell cell, const Subject &subject, const SynchronizedTiming &start, std::size_t pattern) {
    const auto &[synchronizer, timing] = start;
    const std::shared_ptr<AlgorithmInForce> barrier = choose("barrier", cell.barrier_algorithm);
    cell.synchronizer = synchronizer.text();
    cell.timing = timing.text();
    cell.pattern = options_.patterns[pattern].text();
    Runner runner{.index = runners_.size(),
                  .cell = cell,
                  .subject = subject,
                  .barrier = barrier,
                  .synchronizer = find_by_name(all_synchronizers(), synchronizer.name())
                                      .make({comm_, clock_, messages_, barrier->comm(), synchronizer}),
                  .timing = find_by_name(all_timings(), timing.name()).make(timing),
                  .delays = PlannedDelays(patterns_[pattern], cell.delay, place_),
                  .stopping = nullptr,
                  .record = CellRecord(runners_.size(), cell)};
    const auto budget = runner.synchronizer->budget();
    const Part stopping =
        budget ? parse_part("stopping rule", fmt::format("budget(time={}ns)", std::llround(*budget * 1e9)),
                            all_stopping_rules())
               : options_.stopping;
    runner.stopping = find_by_name(all_stopping_rules(), stopping.name()).make(stopping);
    const long calls_per_start = runner.timing->synchronizes() ? 1 : runner.timing->calls();
    runner.duration = cell.delay + subject.time * static_cast<double>(calls_per_start);
    runner.wanted = next_block(runner);
    runners_.push_back(std::move(runner));
}

std::vector<Cell> Launch::cells() const {
    std::vector<Cell> cells;
    for (const Runner &runner : runners_) {
        cells.push_back(runner.cell);
    }
    return cells;
}

std::vector<CellResult> Launch::run(const Reporters &reporters) {
    reporters_ = &reporters;
    const std::size_t steps = runners_.size() * blocks_per_cell; // as many as the usual rule makes
    Progress progress(options_.quiet, steps);
    std::vector<std::size_t> open(runners_.size());
    std::iota(open.begin(), open.end(), 0);
    std::mt19937_64 random(seed_);
    while (!open.empty()) {
        std::vector<std::size_t> order = open;
        shuffle(order, random);
        open.clear();
        for (const std::size_t cell : order) {
            Runner &runner = runners_[cell];
            measure_block(runner);
            if (runner.wanted > 0) {
                open.push_back(cell);
            }
            comm_.on_root([&] {
                if (runner.wanted == 0) {
                    complete(runner);
                }
                // 100 % once all is complete, whatever the stopping rule makes of it.
                const std::size_t done = results_.size() == runners_.size() ? steps : std::min(position_, steps - 1);
                progress.update(done, fmt::format("{} of {} cells complete, {} samples rejected", results_.size(),
                                                  runners_.size(), rejected_));
                return 0;
            });
        }
        std::sort(open.begin(), open.end());
    }
    std::sort(results_.begin(), results_.end(),
              [](const CellResult &a, const CellResult &b) { return a.index < b.index; });
    return results_;
}

long Launch::next_block(const Runner &runner) const {
    return comm_.on_root([&] { return runner.stopping->next_block(runner.record.progress()); });
}

void Launch::measure_block(Runner &runner) {
    if (options_.validate) {
        validate(runner);
    }
    long missing = runner.wanted;
    long attempts_left = runner.wanted * options_.max_attempts;
    long discarded = warm_up(runner);
    while (missing > 0 && attempts_left > 0) {
        const long count = std::min({missing, attempts_left, largest_batch});
        const Batch batch = sample(runner, runner.attempts - discarded, discarded + count);
        missing -= comm_.on_root([&] { return take(batch, runner, discarded); });
        runner.attempts += count;
        attempts_left -= count;
        discarded = 0;
    }
    runner.record.end_block(missing > 0);
    ++position_;
    runner.wanted = next_block(runner);
}

void Launch::validate(Runner &runner) {
    const std::optional<Validation> own = runner.subject.operation->validate();
    if (!own) {
        return;
    }
    long wrong = own->wrong;
    check(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_MAX, comm_.handle()), "MPI_Allreduce");
    if (wrong == 0) {
        runner.record.add_validation(own->calls, 0, "");
        return;
    }
    const std::vector<std::string> errors = comm_.gather(own->error);
    const auto first = std::find_if(errors.begin(), errors.end(), [](const std::string &e) { return !e.empty(); });
    const std::string error =
        first == errors.end() ? "" : fmt::format("rank {}: {}", std::distance(errors.begin(), first), *first);
    runner.record.add_validation(own->calls, wrong, error);
}

long Launch::warm_up(Runner &runner) {
    if (const auto calls = warmup_->number()) {
        return *calls;
    }
    const Metric &latency = find_by_name(all_metrics(), "latency_avg");
    std::vector<double> times; // at rank 0
    for (;;) {
        const long count = comm_.on_root([&] { return warmup_->next(times); });
        if (count == 0) {
            return 0;
        }
        const Batch batch = sample(runner, runner.attempts, count);
        comm_.on_root([&] {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                times.push_back(latency.value(batch[i]));
            }
            return take(batch, runner, count);
        });
    }
}

Batch Launch::sample(Runner &runner, long first, long count) {
    const auto begin = std::chrono::steady_clock::now();
    const AlgorithmScope operation(*runner.subject.algorithm);
    const AlgorithmScope barrier(*runner.barrier);
    Batch batch = sampler_.sample(*runner.synchronizer, *runner.subject.operation, *runner.timing,
                                  runner.delays.of_calls(first, count), runner.duration);
    runner.record.add_time(Seconds(std::chrono::steady_clock::now() - begin).count());
    return batch;
}

long Launch::take(const Batch &batch, Runner &runner, long discarded) {
    std::vector<Verdict> verdicts(static_cast<std::size_t>(discarded), Verdict::warmup);
    for (std::size_t i = verdicts.size(); i < batch.size(); ++i) {
        verdicts.push_back(judge(batch[i], clock_.tolerance()));
    }
    const BatchReport report{runner.index, position_, runner.record.recorded(), batch, verdicts};
    for (const auto &reporter : *reporters_) {
        reporter->samples(report);
    }
    runner.record.add(batch, verdicts);
    const long valid = std::count(verdicts.begin(), verdicts.end(), Verdict::valid);
    rejected_ += static_cast<long>(batch.size()) - discarded - valid;
    return valid;
}

void Launch::complete(const Runner &runner) {
    waiting_.push_back(runner.record.summarize(*runner.stopping));
    waiting_.back().advice = runner.synchronizer->advice();
    report_completed();
}

const CellResult *Launch::result_of(const Runner &runner) const {
    const auto known = std::find_if(results_.begin(), results_.end(),
                                    [&](const CellResult &result) { return result.index == runner.index; });
    return known == results_.end() ? nullptr : &*known;
}

bool Launch::compare(CellResult &result, bool (*same)(const Cell &, const Cell &), bool (*is_reference)(const Cell &),
                     void (*fill_in)(CellResult &, const CellResult &)) const {
    const auto reference = std::find_if(runners_.begin(), runners_.end(), [&](const Runner &runner) {
        return is_reference(runner.cell) && same(runner.cell, result.cell);
    });
    if (is_reference(result.cell) || reference == runners_.end()) {
        return true;
    }
    const CellResult *known = result_of(*reference);
    if (known != nullptr) {
        fill_in(result, *known);
    }
    return known != nullptr;
}

void Launch::report_completed() {
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
        const auto is_undelayed = [](const Cell &cell) { return cell.pattern == no_pattern; };
        const auto is_pure = [](const Cell &cell) { return cell.computation == 0.0; };
        if (!compare(*waiting, same_but_for_arrival, is_undelayed, compare_with_undelayed) ||
            !compare(*waiting, same_but_for_computation, is_pure, compare_with_pure)) {
            ++waiting;
            continue;
        }
        results_.push_back(std::move(*waiting));
        waiting = waiting_.erase(waiting);
        for (const auto &reporter : *reporters_) {
            reporter->cell(results_.back());
        }
        waiting = waiting_.begin(); // who waited for this one stands before it
    }
}

} // namespace bench
