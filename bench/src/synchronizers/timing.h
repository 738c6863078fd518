#pragma once

#include "mpi/global_clock.h"
#include "operations/operation.h"
#include "synchronizers/synchronizer.h"
#include "text/component.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace bench {

/// A sample's readings of the local clock.
struct Stamps {
    std::int64_t entry;
    std::int64_t exit;
};

/// The part of a sample between its two stamps, and these.
class Timing {
public:
    virtual ~Timing() = default;

    /// Collective. The timed part: one or more calls of the operation, right after the first stamp and right before
    /// the second.
    virtual Stamps run(Operation &operation, Synchronizer &synchronizer, const StampClock &clock) = 0;

    /// Calls of the operation per sample; times are divided by it.
    virtual long calls() const { return 1; }

    /// Whether run() uses the synchronizer, whose last start is then no longer that of the sample.
    virtual bool synchronizes() const { return false; }
};

struct TimingInfo : ComponentInfo {
    std::unique_ptr<Timing> (*make)(const Component &component);
};

const std::vector<TimingInfo> &all_timings();

/// Timing scheme `window` and the synchronizer of that name belong together.
constexpr const char *window_name = "window";

} // namespace bench
