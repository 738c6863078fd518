#include "sampler.h"

#include "mpi_check.h"

namespace bench {
namespace {

/// The values of all ranks at rank 0, turned from [rank][sample], as they arrive, into [sample][rank].
template <typename Value>
std::vector<Value> gather_by_sample(const Communicator &comm, const std::vector<Value> &mine, std::size_t count,
                                    MPI_Datatype datatype) {
    const auto ranks = static_cast<std::size_t>(comm.is_root() ? comm.size() : 0);
    std::vector<Value> by_rank(ranks * count);
    check(MPI_Gather(mine.data(), static_cast<int>(count), datatype, by_rank.data(), static_cast<int>(count), datatype,
                     0, comm.handle()),
          "MPI_Gather");
    std::vector<Value> by_sample(ranks * count);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
            by_sample[i * ranks + rank] = by_rank[rank * count + i];
        }
    }
    return by_sample;
}

} // namespace

void Sampler::attempt(Synchronizer &synchronizer, Operation &operation, std::size_t index) {
    const bool in_time = synchronizer.start();
    const double entry = clock_.now();
    operation.run();
    const double exit = clock_.now();

    const Start start = synchronizer.last_start();
    record_.entry[index] = entry;
    record_.exit[index] = exit;
    record_.deadline[index] = start.deadline;
    record_.slack[index] = start.slack;
    record_.flag[index] = in_time ? 1 : 0;
}

Batch Sampler::sample(Synchronizer &synchronizer, Operation &operation, long count) {
    const auto samples = static_cast<std::size_t>(count);
    // Written in full before the first attempt, so that recording faults no page in.
    record_.entry.assign(samples, 0.0);
    record_.exit.assign(samples, 0.0);
    record_.deadline.assign(samples, 0.0);
    record_.slack.assign(samples, 0.0);
    record_.flag.assign(samples, 0);

    clock_.refresh();
    for (long i = 0; i < warmup_; ++i) {
        attempt(synchronizer, operation, 0); // overwritten by the first sample
    }
    for (std::size_t i = 0; i < samples; ++i) {
        attempt(synchronizer, operation, i);
    }
    return gather(samples);
}

Batch Sampler::gather(std::size_t count) const {
    Batch batch;
    batch.error_bound = clock_.largest_error_bound();
    batch.ranks = static_cast<std::size_t>(comm_.size());
    batch.entry = gather_by_sample(comm_, record_.entry, count, MPI_DOUBLE);
    batch.exit = gather_by_sample(comm_, record_.exit, count, MPI_DOUBLE);
    batch.flag = gather_by_sample(comm_, record_.flag, count, MPI_UNSIGNED_CHAR);
    if (comm_.is_root()) {
        // The same on all ranks.
        batch.deadline = record_.deadline;
        batch.slack = record_.slack;
    }
    return batch;
}

} // namespace bench
