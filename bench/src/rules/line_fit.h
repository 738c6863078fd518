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

/// Least squares, weighted; no weights: all are equal. At least two points with different x; the origin is their mean,
/// which keeps the digits of long times.
Line fit_line(std::span<const double> x, std::span<const double> y, std::span<const double> weights = {});

/// Half of the width of 95 % confidence intervals of a least squares line.
struct LineError {
    double count;  // of points: sum of their weights
    double origin; // mean of x
    double xx;     // sum of squares of x - origin
    double unit;   // of a weighted sum of y whose weights have 1 as the sum of their squares

    double slope() const;
    double at(double x) const;
};

/// From the residuals of the line, without assuming that they are independent: their long-run variance is
/// taken from the four slowest waves that a line cannot follow, and Student's distribution has four degrees of freedom
/// (Sun 2011, Robust trend inference; the orthonormal series of a trend). Exact for independent Gaussian residuals;
/// for others bench/tests/drift_test.cc draws what it covers. At least four points; the fewer degrees of
/// freedom they leave are used where there are less than six. Weights are inverse variances, up to a factor.
LineError line_error(std::span<const double> x, std::span<const double> y, std::span<const double> weights = {});

/// Share of the variance of y that the line explains, 0 to 1.
double explained_share(const Line &line, std::span<const double> x, std::span<const double> y,
                       std::span<const double> weights = {});

} // namespace bench
