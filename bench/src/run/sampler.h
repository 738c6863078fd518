// Takes samples: synchronizes the ranks, takes a stamp, runs the operation, takes a stamp, and gathers the stamps of
// all ranks on rank 0.
#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "operations/operation.h"
#include "rules/metric.h"
#include "synchronizers/synchronizer.h"

#include <vector>

namespace bench {

/// Takes samples of cells.
class Sampler {
public:
    /// `observed`: rank that metric latency_observed reports.
    Sampler(const Communicator &comm, const GlobalClock &clock, int observed)
        : comm_(comm), clock_(clock), observed_(static_cast<std::size_t>(observed)) {}

    /// Collective. Takes a sample for each element of `delays`, the delays of this rank's starts, s; all ranks pass the
    /// same number of delays. `duration`: estimated time from a start to the exit stamp, s, the same on all ranks.
    /// Returns the batch on rank 0, and an empty batch on other ranks.
    Batch sample(Synchronizer &synchronizer, Operation &operation, Timing &timing, const std::vector<double> &delays,
                 double duration);

private:
    /// A sample on this rank; times are s on the global clock. All members are double, so that MPI can send an array of
    /// records.
    struct Record {
        // For the meaning of members, see Sample and Batch.
        double sync_entry;
        double entry;
        double exit;
        double delay;
        double flag;   // 0 or 1
        double unsure; // 0 or 1
        double computed;
        double deadline;   // rank 0 only, like slack and end
        double slack;      // time from the decision on the deadline to the deadline, s
        double end;        // time by which all ranks must leave the operation
        double true_entry; // entry in true time, s; NaN if unknown
    };

    /// What the synchronizer knows about its last start, on rank 0; no start on other ranks.
    Start last_start(const Synchronizer &synchronizer) const;
    /// Collective. The batch of all ranks' records on rank 0; an empty batch on other ranks.
    Batch gather() const;

    const Communicator &comm_;
    const GlobalClock &clock_;
    std::size_t observed_;        // rank that metric latency_observed reports
    std::vector<Record> records_; // of the last batch, on this rank
};

/// Collective. Measures the time between two stamps without a call between them, which takes some 10 us. Returns the
/// largest time over the ranks, s, on rank 0, and 0 on other ranks.
double measure_stamp_cost(const Communicator &comm, const GlobalClock &clock);

} // namespace bench
