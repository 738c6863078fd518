#include "rules/window_size.h"

#include <algorithm>

namespace bench {
namespace {

// The kernel takes a processor away for less than this in nearly all cases, and a window costs this much time.
constexpr double room = 10e-6;

// Beyond a tenth of a second, or the first size, longer windows only make a run that cannot succeed last longer.
constexpr double largest = 0.1;

double share_of(std::span<const std::uint8_t> fits, WindowFit least) {
    const auto count =
        std::ranges::count_if(fits, [&](std::uint8_t fit) { return fit >= static_cast<std::uint8_t>(least); });
    return static_cast<double>(count) / static_cast<double>(fits.size());
}

} // namespace

double WindowSize::smallest(double duration) const { return first_.value_or(2.0 * duration + room); }

void WindowSize::learn(std::span<const std::uint8_t> fits, double duration) {
    const double least = smallest(duration);
    if (fits.size() > 1) {
        fits = fits.subspan(1);
        if (share_of(fits, WindowFit::missed) > share_) {
            size_ = std::min(size_ * growth_, std::max(largest, least));
        } else if (share_of(fits, WindowFit::tight) <= share_) {
            size_ /= growth_;
        }
    }
    size_ = std::max(size_, least);
}

} // namespace bench
