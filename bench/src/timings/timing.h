#pragma once

#include "operations/operation.h"
#include "synchronizers/synchronizer.h"
#include "text/component.h"

#include <memory>
#include <vector>

namespace bench {

/// The part of a sample between its two timestamps.
class Timing {
public:
    virtual ~Timing() = default;

    /// Collective. The timed part: one or more calls of the operation.
    virtual void run(Operation &operation, Synchronizer &synchronizer) = 0;

    /// Calls of the operation per sample; times are divided by it.
    virtual long calls() const { return 1; }

    /// Whether run() uses the synchronizer, whose last start is then no longer that of the sample.
    virtual bool synchronizes() const { return false; }
};

struct TimingInfo : ComponentInfo {
    std::unique_ptr<Timing> (*make)(const Component &component);
};

// One line per timing scheme; timings/<name>.cc defines the function of that name.
#define BENCH_TIMINGS(TIMING)                                                                                          \
    TIMING(per_call)                                                                                                   \
    TIMING(batch)                                                                                                      \
    TIMING(batch_synced)                                                                                               \
    TIMING(window)

namespace timings {
#define BENCH_DECLARE(name) TimingInfo name();
BENCH_TIMINGS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace timings

const std::vector<TimingInfo> &all_timings();

/// Timing scheme `window` and the synchronizer of that name belong together.
constexpr const char *window_name = "window";

/// For timing schemes with the parameter `calls`.
ComponentParameter calls_parameter();

} // namespace bench
