#pragma once

#include "operation.h"
#include "part.h"
#include "synchronizer.h"

#include <memory>
#include <vector>

namespace bench {

/// What lies between the two stamps of a sample.
class Timing {
public:
    virtual ~Timing() = default;

    /// Collective. What is timed: one or more calls of the operation.
    virtual void run(Operation &operation, Synchronizer &synchronizer) = 0;

    /// Calls of the operation per sample; times are divided by it.
    virtual long calls() const { return 1; }

    /// Whether run() uses the synchronizer, whose last start is then no longer that of the sample.
    virtual bool synchronizes() const { return false; }
};

struct TimingInfo : PartInfo {
    std::unique_ptr<Timing> (*make)(const Part &part);
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

/// Timing scheme `window` and the synchronizer of that name belong together, where there is a choice.
constexpr const char *window_name = "window";

/// For timing schemes with the parameter `calls`.
PartParameter calls_parameter();

} // namespace bench
