// Least squares lines, and the uncertainty of their slopes when residuals are correlated, for `downbeat-bench drift`.
#pragma once

#include <span>

namespace bench {

/// The line y = intercept + slope (x - origin).
struct Line {
    double origin;    // an x
    double intercept; // y at the origin
    double slope;

    /// The y of the line at x.
    double at(double x) const { return intercept + slope * (x - origin); }
};

/// Fits a line by weighted least squares; without `weights`, all points count the same. Needs two points with different
/// x. The origin is the mean of x, which avoids the loss of digits for large x.
Line fit_line(std::span<const double> x, std::span<const double> y, std::span<const double> weights = {});

/// Uncertainty of a least squares line: half the width of 95 % confidence intervals.
struct LineError {
    double count;  // number of points (sum of the weights)
    double origin; // mean of x
    double xx;     // sum of squares of x - origin
    double unit;   // half width for a linear combination of y whose squared coefficients add up to 1

    /// Half width for the slope.
    double slope() const;
    /// Half width for the line at x.
    double at(double x) const;
};

/// Estimates the uncertainty of a line from its residuals, which may be correlated. Their long-run variance is
/// estimated from four slow cosines, made orthogonal to the line; Student's distribution then has four degrees of
/// freedom (Sun 2011, Robust trend inference). The interval is exact for independent Gaussian residuals;
/// bench/tests/drift_test.cc simulates its coverage for others. Needs four points; with fewer than six points there are
/// fewer cosines. Weights are proportional to inverse variances.
LineError line_error(std::span<const double> x, std::span<const double> y, std::span<const double> weights = {});

/// The share of the variance of y that the line explains, 0 to 1.
double explained_share(const Line &line, std::span<const double> x, std::span<const double> y,
                       std::span<const double> weights = {});

} // namespace bench
