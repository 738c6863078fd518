#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "operations/operation.h"
#include "rules/metric.h"
#include "synchronizers/synchronizer.h"

#include <vector>

namespace bench {

/// Makes attempts: synchronizes, stamps, runs the operation, stamps.
class Sampler {
public:
    /// `observed`: the rank whose own time is reported.
    Sampler(const Communicator &comm, const GlobalClock &clock, int observed)
        : comm_(comm), clock_(clock), observed_(static_cast<std::size_t>(observed)) {}

    /// Collective. One attempt for each of this rank's delays (seconds; as many on all ranks). `duration`: seconds that
    /// an attempt is estimated to take from its start, the same on all ranks. The batch at rank 0, an empty one
    /// elsewhere.
    Batch sample(Synchronizer &synchronizer, Operation &operation, Timing &timing, const std::vector<double> &delays,
                 double duration);

private:
    // One rank's record of an attempt; only numbers, so that it can be sent as one array.
    struct Record {
        double sync_entry;
        double entry;
        double exit;
        double delay;
        double flag;
        double unsure;
        double computed;
        double deadline; // as the slack known at rank 0
        double slack;
        double end;
        double true_entry;
    };

    Start last_start(const Synchronizer &synchronizer) const;
    Batch gather() const;

    const Communicator &comm_;
    const GlobalClock &clock_;
    std::size_t observed_;
    std::vector<Record> records_;
};

/// Collective. Seconds between two stamps without a call between them, the largest over the ranks, at rank 0; 0
/// elsewhere. Some ten microseconds.
double measure_stamp_cost(const Communicator &comm, const GlobalClock &clock);

} // namespace bench
