// Takes and gathers samples (sampler.h).
#include "run/sampler.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "rules/statistics.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bench {
namespace {

// measure_stamp_cost() takes the median over batches, which is free of interruptions, of means over pairs of stamps,
// which average over the clock's step.
constexpr int batches = 10;
constexpr int pairs = 50; // of stamps, per batch

/// A synchronizer for timing schemes that do not call it.
struct NoSynchronizer : Synchronizer {
    bool start(double) override { return true; }
};

} // namespace

Batch Sampler::sample(Synchronizer &synchronizer, Operation &operation, Timing &timing,
                      const std::vector<double> &delays, double duration) {
    records_.assign(delays.size(), Record{}); // causes all page faults before the first sample
    // The clocks are checked only between series, so a series must be short enough that they do not drift too far
    // apart.
    const auto series = static_cast<std::size_t>(synchronizer.longest_series(duration, clock_.max_refresh_interval()));
    const bool synchronizes_clocks = synchronizer.synchronizes_clocks();
    ClockError error;          // largest error of this rank's stamps
    ClockError error_of_start; // largest error of the synchronizer's own clock
    for (std::size_t first = 0; first < delays.size(); first += series) {
        const std::size_t end = std::min(first + series, delays.size());
        clock_.refresh();
        synchronizer.prepare({static_cast<long>(end - first), duration});
        StampClock before = clock_.stamps();
        for (std::size_t i = first; i < end; ++i) {
            operation.prepare();
            // Before the start, which may synchronize the clock: the error is largest before that.
            error_of_start = larger(error_of_start, synchronizer.clock_error());
            const std::int64_t sync_entry = before.read();
            const bool in_time = synchronizer.start(delays[i]);
            const double true_entry = true_time();
            Start start;
            bool unsure = false;
            StampClock at_entry = before;
            // Reads what the synchronizer knows about its last start, and the clock that it may have synchronized.
            const auto record_start = [&] {
                start = last_start(synchronizer);
                unsure = !in_time && synchronizer.unsure();
                if (synchronizes_clocks) {
                    at_entry = clock_.stamps();
                }
            };
            if (timing.synchronizes()) { // its calls of the synchronizer replace this start, and may change the clock
                record_start();
            }
            const Stamps stamps = timing.run(operation, synchronizer, before);
            if (!timing.synchronizes()) {
                record_start();
            }
            const StampClock at_exit = synchronizes_clocks && timing.synchronizes() ? clock_.stamps() : at_entry;
            // The error of a clock grows until its next synchronization, so the last stamp before that has the largest.
            if (!at_entry.same_as(before)) {
                error = larger(error, before.error(sync_entry));
            }
            if (!at_exit.same_as(at_entry)) {
                error = larger(error, at_entry.error(stamps.entry));
            }
            records_[i] = {.sync_entry = before.seconds(sync_entry),
                           .entry = at_entry.seconds(stamps.entry),
                           .exit = at_exit.seconds(stamps.exit),
                           .delay = delays[i],
                           .flag = in_time ? 1.0 : 0.0,
                           .unsure = unsure ? 1.0 : 0.0,
                           .computed = operation.take_computed(),
                           .deadline = start.deadline,
                           .slack = start.slack,
                           .end = start.end,
                           .true_entry = true_entry};
            before = at_exit;
        }
        error = larger(error, before.error(before.read()));
        error_of_start = larger(error_of_start, synchronizer.clock_error());
    }
    error = clock_.largest(chained(error, error_of_start));
    Batch batch = gather();
    batch.calls = timing.calls() * operation.weight();
    batch.timed = operation.timed_ranks();
    if (batch.timed.empty()) {
        batch.timed.resize(batch.ranks);
        std::iota(batch.timed.begin(), batch.timed.end(), 0);
    }
    batch.observed = observed_;
    batch.resolution = clock_.resolution();
    batch.error_bound = error.bound;
    batch.expected_error = error.expected;
    return batch;
}

// Only rank 0 reads the start, which is the same on all ranks: otherwise the next start would wait for the slowest
// reader.
Start Sampler::last_start(const Synchronizer &synchronizer) const {
    return comm_.is_root() ? synchronizer.last_start() : Start{};
}

Batch Sampler::gather() const {
    constexpr std::size_t width = sizeof(Record) / sizeof(double); // numbers of a record
    const std::size_t count = records_.size();
    const auto ranks = static_cast<std::size_t>(comm_.size());
    const int numbers = static_cast<int>(count * width);
    std::vector<Record> all(comm_.is_root() ? ranks * count : 0); // [rank][sample]
    check(MPI_Gather(records_.data(), numbers, MPI_DOUBLE, all.data(), numbers, MPI_DOUBLE, 0, comm_.handle()),
          "MPI_Gather");
    Batch batch;
    batch.ranks = ranks;
    if (!comm_.is_root()) {
        return batch;
    }
    for (std::vector<double> *times : {&batch.sync_entry, &batch.entry, &batch.exit, &batch.delay, &batch.computed}) {
        times->reserve(ranks * count);
    }
    batch.flag.reserve(ranks * count);
    batch.unsure.reserve(ranks * count);
    for (std::size_t i = 0; i < count; ++i) {
        batch.deadline.push_back(records_[i].deadline);
        batch.slack.push_back(records_[i].slack);
        batch.end.push_back(records_[i].end);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const Record &record = all[rank * count + i];
            batch.sync_entry.push_back(record.sync_entry);
            batch.entry.push_back(record.entry);
            batch.exit.push_back(record.exit);
            batch.delay.push_back(record.delay);
            batch.computed.push_back(record.computed);
            batch.flag.push_back(record.flag > 0.0 ? 1 : 0);
            batch.unsure.push_back(record.unsure > 0.0 ? 1 : 0);
            if (!std::isnan(record.true_entry)) {
                batch.true_entry.push_back(record.true_entry);
            }
        }
    }
    return batch;
}

double measure_stamp_cost(const Communicator &comm, const GlobalClock &clock) {
    const OperationInfo nothing = operations::nothing();
    const auto operation = nothing.make({comm.handle(), 0, Component("operation", nothing.name, nothing)});
    const TimingInfo &per_call = find_by_name(all_timings(), "per_call");
    const auto timing = per_call.make(Component("timing scheme", per_call.name, per_call));
    NoSynchronizer no_synchronizer;
    const StampClock stamps = clock.stamps();
    std::vector<double> costs;
    for (int batch = 0; batch < batches; ++batch) {
        double sum = 0.0;
        for (int pair = 0; pair < pairs; ++pair) {
            const Stamps taken = timing->run(*operation, no_synchronizer, stamps);
            sum += stamps.seconds(taken.exit) - stamps.seconds(taken.entry);
        }
        costs.push_back(sum / pairs);
    }
    const double cost = summarize(costs).median;
    double largest = 0.0;
    check(MPI_Reduce(&cost, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, comm.handle()), "MPI_Reduce");
    return largest;
}

} // namespace bench
