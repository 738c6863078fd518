// Grows and shrinks the windows of synchronizer `window` (window_size.h).
#include "rules/window_size.h"

#include <algorithm>

namespace bench {
namespace {

// Time for jitter, s: nearly all interruptions by the kernel are shorter. It is added to every window.
constexpr double jitter = 10e-6;

// Largest size, s, unless the first size is larger. If ranks miss such windows, larger ones would not help, either.
constexpr double max_size = 0.1;

/// The share of values that are at least `limit`, in the order ample, tight, missed.
double share_of(std::span<const std::uint8_t> fits, WindowFit limit) {
    const auto count =
        std::ranges::count_if(fits, [&](std::uint8_t fit) { return fit >= static_cast<std::uint8_t>(limit); });
    return static_cast<double>(count) / static_cast<double>(fits.size());
}

} // namespace

double WindowSize::smallest(double duration) const { return first_.value_or(2.0 * duration + jitter); }

void WindowSize::learn(std::span<const std::uint8_t> fits, double duration) {
    const double min_size = smallest(duration);
    if (fits.size() > 1) {
        fits = fits.subspan(1); // the first window does not count
        if (share_of(fits, WindowFit::missed) > share_) {
            size_ = std::min(size_ * growth_, std::max(max_size, min_size));
        } else if (share_of(fits, WindowFit::tight) <= share_) {
            size_ /= growth_;
        }
    }
    size_ = std::max(size_, min_size);
}

} // namespace bench
