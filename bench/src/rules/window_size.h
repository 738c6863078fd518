#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace bench {

/// How the call before a window fitted into it; the largest value of all ranks counts.
enum class WindowFit : std::uint8_t {
    ample, // also into the next smaller one
    tight, // but not into the next smaller one
    missed // it did not
};

/// The size of windows, and how it follows the operations: it grows by a factor where more than a share of the windows
/// were missed (SKaMPI; Hunold 2015, section 1), and goes back by the same factor where no more than that share would
/// have been missed in the smaller window, so that a disturbance does not slow down the rest of the run. Seconds.
class WindowSize {
public:
    /// `first`: the first and the smallest size; without it the operations decide.
    WindowSize(std::optional<double> first, double growth, double share)
        : first_(first), growth_(growth), share_(share) {}

    /// The smallest size where calls take `duration`: the requested one, or twice the duration and room for a reading
    /// of the clock, bookkeeping and the jitter of a busy system. Twice, so that a rank that is late by one duration
    /// has caught up after another.
    double smallest(double duration) const;

    /// The size in force.
    double value() const { return size_; }
    /// The next smaller one.
    double smaller() const { return size_ / growth_; }
    void set(double size) { size_ = size; }

    /// Learns from a series of windows, except the first, which begins when the ranks receive it.
    void learn(std::span<const std::uint8_t> fits, double duration);

private:
    std::optional<double> first_;
    double growth_;
    double share_;
    double size_ = 0.0;
};

} // namespace bench
