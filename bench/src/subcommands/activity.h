#pragma once

#include "context/context.h"
#include "mpi/communicator.h"

#include <vector>

namespace bench {

/// Records the activity of all hosts' processors during the measurement. The load average is not enough: it averages
/// over a minute, so a machine that has just finished compiling looks busy.
class ActivityWatch {
public:
    /// Starts.
    ActivityWatch();

    /// Collective. Per host, since the start, at rank 0; no entry for a host whose system does not say.
    std::vector<OthersActivity> finish(const Communicator &comm) const;

private:
    struct Reading {
        double wall; // seconds
        double own;  // processor seconds of this process
        double host; // processor seconds of the host that were not idle; NaN if the system does not say
    };
    static Reading read();

    Reading start_;
};

} // namespace bench
