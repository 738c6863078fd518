// The registries of synchronizers and timing schemes, and the time of a broadcast (synchronizer.h).
#include "synchronizers/synchronizer.h"

#include "mpi/communicator.h"

namespace bench {
namespace {

constexpr int broadcasts = 10; // over which measure_broadcast_lag() takes the mean

/// The time until this rank has received rank 0's reading of the clock, s, in a single broadcast.
double lag_of_broadcast(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages) {
    check(MPI_Barrier(messages), "MPI_Barrier");
    double sent = comm.is_root() ? clock.now() : 0.0;
    check(MPI_Bcast(&sent, 1, MPI_DOUBLE, 0, messages), "MPI_Bcast");
    return clock.now() - sent;
}

} // namespace

double measure_broadcast_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages) {
    lag_of_broadcast(comm, clock, messages); // sets up connections
    double sum = 0.0;
    for (int i = 0; i < broadcasts; ++i) {
        sum += lag_of_broadcast(comm, clock, messages);
    }
    double slowest = 0.0;
    check(MPI_Allreduce(&sum, &slowest, 1, MPI_DOUBLE, MPI_MAX, messages), "MPI_Allreduce");
    return slowest / broadcasts;
}

const std::vector<SynchronizerInfo> &all_synchronizers() {
    static const std::vector<SynchronizerInfo> all = [] {
        std::vector<SynchronizerInfo> registry = {synchronizers::none()};
        registry.insert(registry.end(), all_barriers().begin(), all_barriers().end());
        for (const auto info : {synchronizers::window, synchronizers::roundtime, synchronizers::harmonize}) {
            registry.push_back(info());
        }
        return registry;
    }();
    return all;
}

namespace {

/// A call of the operation per sample.
class PerCall : public Timing {
public:
    Stamps run(Operation &operation, Synchronizer &, const StampClock &clock) override {
        const std::int64_t entry = clock.read();
        operation.run();
        return {entry, clock.read()};
    }
};

/// Many calls per sample, in a row.
class Batched : public Timing {
public:
    explicit Batched(long calls) : calls_(calls) {}
    Stamps run(Operation &operation, Synchronizer &, const StampClock &clock) override {
        const std::int64_t entry = clock.read();
        operation.repeat(calls_);
        return {entry, clock.read()};
    }
    long calls() const override { return calls_; }

private:
    long calls_;
};

/// Many calls per sample, each followed by the synchronizer.
class BatchSynced : public Timing {
public:
    explicit BatchSynced(long calls) : calls_(calls) {}
    Stamps run(Operation &operation, Synchronizer &synchronizer, const StampClock &clock) override {
        const std::int64_t entry = clock.read();
        for (long i = 0; i < calls_; ++i) {
            operation.run();
            synchronizer.start(0.0); // its time counts in this scheme, a known error that results should show
        }
        return {entry, clock.read()};
    }
    long calls() const override { return calls_; }
    bool synchronizes() const override { return true; }

private:
    long calls_;
};

// Makers of timing schemes for the registry.
std::unique_ptr<Timing> make_per_call(const Component &) { return std::make_unique<PerCall>(); }

template <typename Kind> std::unique_ptr<Timing> make_batch(const Component &component) {
    return std::make_unique<Kind>(component.whole("calls"));
}

} // namespace

const std::vector<TimingInfo> &all_timings() {
    const ComponentParameter calls = {"calls", "100", "calls of the operation per sample",
                                      ComponentValues::whole(1, 1e9)};
    static const std::vector<TimingInfo> all = {
        {{"per_call", "synchronize and time every call", "Hunold 2015, Fig. 2 (1); OSU"}, make_per_call},
        {{"batch",
          "synchronize once, time many calls in a row; calls overlap (pipelining)",
          "Hunold 2015, Fig. 2 (2); Hoefler 2008, listings 1 to 3; mpptest, IMB, MPBench",
          {calls}},
         make_batch<Batched>},
        {{"batch_synced",
          "time many calls, each followed by the synchronizer; the synchronizer's time counts",
          "Hunold 2015, Fig. 2 (3); Phloem, mpiBench",
          {calls}},
         make_batch<BatchSynced>},
        // The same as per_call; only the synchronizer differs.
        {{"window", "time every call at the start of its own window; needs synchronizer window",
          "Hunold 2015, Fig. 2 (4); SKaMPI, NBCBench"},
         make_per_call}};
    return all;
}

} // namespace bench
