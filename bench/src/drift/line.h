#pragma once

#include <span>

namespace bench {

/// y = intercept + slope (x - origin)
struct Line {
    double origin;
    double intercept;
    double slope;

    double at(double x) const { return intercept + slope * (x - origin); }
};

/// Least squares. At least two points with different x; the origin is their mean, which keeps the digits of long times.
Line fit_line(std::span<const double> x, std::span<const double> y);

} // namespace bench
