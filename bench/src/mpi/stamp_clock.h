#pragma once

#include "mpi/clock_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <downbeat/clock.h>

namespace bench {

/// Stamps: readings of this rank's local clock, which cost the reading and nothing else, and are converted to the
/// global clock when time no longer counts. It converts as the last clock synchronization before it was got left it;
/// reading works as long as the communicator does.
class StampClock {
public:
    explicit StampClock(const Downbeat_clock &clock) : clock_(clock) {}

    std::int64_t read() const { return clock_.read(clock_.clock); }

    /// The stamp on the global clock.
    double seconds(std::int64_t stamp) const { return (static_cast<double>(clock_.global) + elapsed(stamp)) * 1e-9; }

    /// The error of that.
    ClockError error(std::int64_t stamp) const {
        const double t = elapsed(stamp);
        const double bound = clock_.bound + std::abs(t) * (clock_.growth + std::abs(t) * clock_.ramp / 2.0);
        const double after = std::max(0.0, t);
        const double variance =
            clock_.variance + after * (2.0 * clock_.cross + after * (clock_.rate + after * clock_.walk / 3.0));
        return {bound * 1e-9, std::sqrt(std::clamp(variance, 0.0, bound * bound / 3.0)) * 1e-9};
    }

    /// Whether no synchronization came between the two.
    bool same_as(const StampClock &other) const {
        return clock_.ticks == other.clock_.ticks && clock_.global == other.clock_.global;
    }

private:
    double elapsed(std::int64_t stamp) const { return static_cast<double>(stamp - clock_.ticks) * clock_.tick; } // ns

    Downbeat_clock clock_;
};

} // namespace bench
