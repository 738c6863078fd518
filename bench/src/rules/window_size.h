// The size of the windows of synchronizer `window`: start times that follow each other at a constant distance, the
// window. It adapts to the share of windows that ranks miss.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace bench {

/// Whether a call ended before the next window began. The largest value over the ranks counts.
enum class WindowFit : std::uint8_t {
    ample, // it would also fit into the next smaller window
    tight, // it would not fit into the next smaller window
    missed // it ended after the next window had begun
};

/// The size of windows, in seconds. It grows by the factor `growth` if more than `share` of a series of windows were
/// missed (SKaMPI; Hunold 2015, section 1). It shrinks by the same factor if at most that share would have been missed
/// in smaller windows, so that a disturbance does not slow down the rest of the run.
class WindowSize {
public:
    /// `first`: the first and smallest size; if empty, twice the duration of calls plus 10 us.
    WindowSize(std::optional<double> first, double growth, double share)
        : first_(first), growth_(growth), share_(share) {}

    /// The smallest size for calls that take `duration`: the requested size, or twice the duration plus time for
    /// reading the clock, bookkeeping and jitter. Twice the duration lets a rank that is late by one call catch up
    /// within a window.
    double smallest(double duration) const;

    /// The current size.
    double value() const { return size_; }
    /// The next smaller size.
    double smaller() const { return size_ / growth_; }
    /// Sets the current size. Ranks that did not learn() receive it from the rank that did.
    void set(double size) { size_ = size; }

    /// Sets the next size after a series of windows. `fits`: a WindowFit per window; the first window does not count,
    /// since it begins when the ranks receive it. `duration`: of a call, s.
    void learn(std::span<const std::uint8_t> fits, double duration);

private:
    std::optional<double> first_; // requested first and smallest size, s
    double growth_;               // factor between neighboring sizes
    double share_;                // share of missed windows above which the size grows
    double size_ = 0.0;           // current size, s
};

} // namespace bench
