#pragma once

#include "synchronizers/synchronizer.h"

namespace bench {

/// A synchronizer that synchronizes in space alone: there is no common start time, so no rank can be late, and a rank's
/// delay is a delay loop after its barrier (as in Niethammer 2016, section III.D), counted from when it leaves the
/// barrier.
class BarrierSynchronizer : public Synchronizer {
public:
    explicit BarrierSynchronizer(const SynchronizerArguments &arguments) : clock_(arguments.clock) {}

    bool start(double delay) final {
        barrier();
        if (delay > 0.0) {
            clock_.wait_until(clock_.now() + delay);
        }
        return true;
    }

private:
    /// Collective.
    virtual void barrier() = 0;

    const GlobalClock &clock_;
};

} // namespace bench
