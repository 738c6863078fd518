// Measures cells block by block (launch.h).
#include "run/launch.h"

#include "mpi/communicator.h"
#include "output/output.h"
#include "rules/arrival_pattern.h"
#include "rules/metric.h"
#include "rules/statistics.h"
#include "text/words.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

namespace bench {
namespace {

/// Lists cells with their deficiencies; after three cells "...".
std::string describe_cells(const std::vector<const CellResult *> &cells) {
    constexpr std::size_t max_named = 3;
    std::vector<std::string> named;
    for (const CellResult *result : cells) {
        if (named.size() == max_named) {
            named.emplace_back("...");
            break;
        }
        named.push_back(fmt::format("{}: {}", describe_cell(result->cell), describe_shortfall(*result)));
    }
    return join(named);
}

} // namespace

void CompletedCells::add(CellResult result) {
    waiting_.push_back(std::move(result));
    report();
}

std::vector<CellResult> CompletedCells::take() {
    std::ranges::sort(results_, {}, &CellResult::index);
    return std::move(results_);
}

const CellResult *CompletedCells::find(std::size_t index) const {
    const auto known = std::ranges::find(results_, index, &CellResult::index);
    return known == results_.end() ? nullptr : &*known;
}

bool CompletedCells::compare(CellResult &result, bool (*same)(const Cell &, const Cell &),
                             bool (*is_reference)(const Cell &),
                             void (*fill_in)(CellResult &, const CellResult &)) const {
    const auto reference =
        std::ranges::find_if(cells_, [&](const Cell &cell) { return is_reference(cell) && same(cell, result.cell); });
    if (is_reference(result.cell) || reference == cells_.end()) {
        return true;
    }
    const CellResult *known = find(static_cast<std::size_t>(reference - cells_.begin()));
    if (known != nullptr) {
        fill_in(result, *known);
    }
    return known != nullptr;
}

void CompletedCells::report() {
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
        const auto is_undelayed = [](const Cell &cell) { return cell.pattern == no_pattern; };
        const auto is_pure = [](const Cell &cell) { return cell.computation == 0.0; };
        if (!compare(*waiting, same_but_for_arrival, is_undelayed, compare_with_undelayed) ||
            !compare(*waiting, same_but_for_computation, is_pure, compare_with_pure)) {
            ++waiting;
            continue;
        }
        results_.push_back(std::move(*waiting));
        waiting_.erase(waiting);
        for (LaunchListener *const listener : listeners_) {
            listener->cell(results_.back());
        }
        waiting = waiting_.begin(); // this result may be the reference of a result earlier in the list
    }
}

ExitStatus judge_run(const std::vector<CellResult> &results) {
    std::vector<const CellResult *> wrong;
    std::vector<const CellResult *> unmeasured;
    std::vector<std::string> advice;
    for (const CellResult &result : results) {
        if (result.status == CellStatus::ok) {
            continue;
        }
        if (result.status == CellStatus::wrong) {
            wrong.push_back(&result);
            continue;
        }
        unmeasured.push_back(&result);
        const std::string help = result.valid < result.requested
                                     ? result.advice
                                     : "more samples or a wider interval (max and width of precision)";
        if (!contains(advice, help)) {
            advice.push_back(help);
        }
    }
    if (!wrong.empty()) {
        print_error(
            fmt::format("{} of {} cells have wrong results ({})", wrong.size(), results.size(), describe_cells(wrong)));
    }
    if (unmeasured.empty()) {
        return wrong.empty() ? ExitStatus::success : ExitStatus::wrong_results;
    }
    print_error(fmt::format("{} of {} cells are incomplete ({}); try {}", unmeasured.size(), results.size(),
                            describe_cells(unmeasured), join(advice, "; ")));
    return wrong.empty() ? ExitStatus::unmeasured : ExitStatus::wrong_results;
}

namespace {

// Largest number of samples of a batch. It limits the memory of every rank, and the time between two transfers to rank
// 0.
constexpr long max_batch = 1000;

using Seconds = std::chrono::duration<double>;

} // namespace

Launch::Launch(const Communicator &comm, const GlobalClock &clock, const Options &options, std::uint64_t seed)
    : comm_(comm), options_(options), seed_(seed),
      warmup_(find_by_name(all_warmup_rules(), options.warmup.name()).make(options.warmup)),
      plan_(comm, clock, options, seed), sampler_(comm, clock, options.observed), round_trip_(comm),
      limits_(options.start_limits(clock.tolerance())) {}

void Launch::prepare() { runs_ = plan_.cell_runs(); }

std::vector<Cell> Launch::cells() const { return mapped(runs_, &CellRun::cell); }

std::vector<CellResult> Launch::run(const LaunchListeners &listeners) {
    listeners_ = &listeners;
    CompletedCells completed(cells(), listeners);
    Progress progress(options_.quiet);
    std::vector<std::size_t> incomplete(runs_.size());
    std::iota(incomplete.begin(), incomplete.end(), 0);
    std::mt19937_64 random(seed_);
    last_round_trip_ = round_trip_.read();
    while (!incomplete.empty()) {
        std::vector<std::size_t> order = incomplete;
        shuffle(order, random);
        incomplete.clear();
        for (const std::size_t cell : order) {
            CellRun &run = runs_[cell];
            measure_block(run);
            if (run.next_samples > 0) {
                incomplete.push_back(cell);
            }
            comm_.on_root([&] {
                if (run.next_samples == 0) {
                    CellResult result = run.record.result(*run.stopping);
                    result.advice = run.synchronizer->advice();
                    completed.add(std::move(result));
                }
                const std::size_t remaining = blocks_left();
                const std::size_t percent = 100 * block_ / (block_ + remaining);
                progress.update(
                    block_, remaining,
                    fmt::format("{} % of {} cells measured, {} samples rejected", percent, runs_.size(), rejected_),
                    run.stopping->open_ended());
                return 0;
            });
        }
        std::ranges::sort(incomplete);
    }
    comm_.on_root([&] {
        progress.finish(
            fmt::format("{} of {} cells complete, {} samples rejected", completed.count(), runs_.size(), rejected_));
        return 0;
    });
    return completed.take();
}

std::size_t Launch::blocks_left() const {
    long blocks = 0;
    for (const CellRun &run : runs_) {
        blocks += run.next_samples == 0 ? 0 : run.stopping->blocks_left(run.record.progress());
    }
    return static_cast<std::size_t>(blocks);
}

void Launch::measure_block(CellRun &run) {
    if (options_.validate) {
        validate(run);
    }
    long missing = run.next_samples;
    long attempts_left = run.next_samples * options_.max_attempts;
    long discarded = warm_up(run);
    while (missing > 0 && attempts_left > 0) {
        const long count = std::min({missing, attempts_left, max_batch});
        const Batch batch = sample(run, run.attempts - discarded, discarded + count);
        missing -= comm_.on_root([&] { return record(batch, run, discarded); });
        run.attempts += count;
        attempts_left -= count;
        discarded = 0;
    }
    const double after = round_trip_.read();
    run.record.add_round_trips(last_round_trip_, after);
    last_round_trip_ = after;
    run.record.end_block(missing > 0);
    ++block_;
    run.next_samples = next_block(comm_, run);
}

void Launch::validate(CellRun &run) {
    const std::optional<Validation> local = run.planned.operation->validate();
    if (!local) {
        return;
    }
    long wrong = local->wrong;
    check(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_MAX, comm_.handle()), "MPI_Allreduce");
    if (wrong == 0) {
        run.record.add_validation(local->calls, 0, "");
        return;
    }
    const std::vector<std::string> errors = comm_.gather(local->error);
    const auto first = std::ranges::find_if(errors, [](const std::string &e) { return !e.empty(); });
    const std::string error =
        first == errors.end() ? "" : fmt::format("rank {}: {}", std::distance(errors.begin(), first), *first);
    run.record.add_validation(local->calls, wrong, error);
}

long Launch::warm_up(CellRun &run) {
    if (const auto calls = warmup_->number()) {
        return *calls;
    }
    const Metric &latency = find_by_name(all_metrics(), "latency_avg");
    std::vector<double> times; // of the warm-up calls, mean over ranks, s; rank 0 only
    for (;;) {
        const long count = comm_.on_root([&] { return warmup_->next(times); });
        if (count == 0) {
            comm_.on_root([&] {
                run.record.end_warmup(warmup_->settled(times));
                return 0;
            });
            return 0;
        }
        const Batch batch = sample(run, run.attempts, count);
        comm_.on_root([&] {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                times.push_back(latency.value(batch[i]));
            }
            return record(batch, run, count);
        });
    }
}

Batch Launch::sample(CellRun &run, long first, long count) {
    const auto begin = std::chrono::steady_clock::now();
    const AlgorithmScope operation(*run.planned.algorithm);
    const AlgorithmScope barrier(*run.barrier);
    Batch batch = sampler_.sample(*run.synchronizer, *run.planned.operation, *run.timing,
                                  run.delays.of_calls(first, count), run.duration);
    run.record.add_time(Seconds(std::chrono::steady_clock::now() - begin).count());
    return batch;
}

long Launch::record(const Batch &batch, CellRun &run, long discarded) {
    std::vector<Verdict> verdicts(static_cast<std::size_t>(discarded), Verdict::warmup);
    for (std::size_t i = verdicts.size(); i < batch.size(); ++i) {
        verdicts.push_back(judge(batch[i], limits_));
    }
    const BatchReport report{run.index, block_, run.record.recorded(), batch, verdicts, last_round_trip_};
    for (LaunchListener *const listener : *listeners_) {
        listener->samples(report);
    }
    run.record.add(batch, verdicts);
    const long valid = std::ranges::count(verdicts, Verdict::valid);
    rejected_ += static_cast<long>(batch.size()) - discarded - valid;
    return valid;
}

} // namespace bench
