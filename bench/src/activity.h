#pragma once

#include "communicator.h"
#include "context.h"

#include <vector>

namespace bench {

/// Watches what the processors of all hosts do during the measurement. The load average would not do: it looks back
/// over a minute, and calls a machine busy that has just finished compiling.
class ActivityWatch {
public:
    /// Starts.
    ActivityWatch();

    /// Collective. Per host, since the start, at rank 0; no entry for a host whose system does not tell.
    std::vector<OthersActivity> finish(const Communicator &comm) const;

private:
    struct Reading {
        double wall; // seconds
        double own;  // processor seconds of this process
        double host; // processor seconds of the host that were not idle; NaN where the system does not tell
    };
    static Reading read();

    Reading start_;
};

} // namespace bench
