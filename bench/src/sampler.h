#pragma once

#include "batch.h"
#include "communicator.h"
#include "global_clock.h"
#include "operation.h"
#include "synchronizer.h"

namespace bench {

/// Makes attempts: synchronizes, stamps, runs the operation, stamps.
class Sampler {
public:
    /// `warmup` attempts precede every batch and leave no trace.
    Sampler(const Communicator &comm, const GlobalClock &clock, long warmup)
        : comm_(comm), clock_(clock), warmup_(warmup) {}

    /// Collective. `count` attempts; the batch at rank 0, an empty one elsewhere.
    Batch sample(Synchronizer &synchronizer, Operation &operation, long count);

private:
    // What one rank records of its attempts.
    struct Record {
        std::vector<double> entry;
        std::vector<double> exit;
        std::vector<double> deadline;
        std::vector<double> slack;
        std::vector<unsigned char> flag;
    };

    void attempt(Synchronizer &synchronizer, Operation &operation, std::size_t index);
    Batch gather(std::size_t count) const;

    const Communicator &comm_;
    const GlobalClock &clock_;
    long warmup_;
    Record record_;
};

} // namespace bench
