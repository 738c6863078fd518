#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

namespace bench {

/// Processors that were busy for so many seconds together, of those that a host has; nothing if it does not say, or if
/// the period is too short to tell: the kernel counts in ticks of 10 ms on each.
inline std::optional<double> busy_processors(double seconds, double period, double processors) {
    constexpr double shortest = 0.1; // seconds
    if (std::isnan(seconds) || period < shortest) {
        return std::nullopt;
    }
    return std::clamp(seconds / period, 0.0, processors);
}

} // namespace bench
