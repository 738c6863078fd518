// Weighted least squares and confidence intervals for correlated residuals (line_fit.h).
#include "rules/line_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace bench {
namespace {

using Vector = std::vector<double>;

// Number of cosines that estimate the long-run variance. With fewer, intervals are wider; with more, the added cosines
// are faster than the disturbances and underestimate them. With four, intervals have the coverage that drift_test.cc
// tests, and are 1.3 times as wide as with a known variance.
constexpr std::size_t cosines = 4;

// The 97.5 % quantiles of Student's distribution for 2, 3 and 4 degrees of freedom.
constexpr std::array<double, 3> student = {4.302653, 3.182446, 2.776445};

/// Scales weights to a mean of 1; without weights, all are 1.
Vector normalized(std::span<const double> weights, std::size_t count) {
    Vector result(count, 1.0);
    if (!weights.empty()) {
        result.assign(weights.begin(), weights.end());
        const double sum = std::accumulate(result.begin(), result.end(), 0.0);
        for (double &weight : result) {
            weight *= static_cast<double>(count) / sum;
        }
    }
    return result;
}

/// The weighted mean. The weights have a mean of 1.
double mean(std::span<const double> values, const Vector &weights) {
    return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0) / static_cast<double>(values.size());
}

/// The inner product.
double product(const Vector &a, const Vector &b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Subtracts the weighted mean and multiplies each value by the square root of its weight, so that all values have the
/// same variance.
Vector around_mean(std::span<const double> values, const Vector &weights) {
    Vector result(values.begin(), values.end());
    const double middle = mean(values, weights);
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] = (result[i] - middle) * std::sqrt(weights[i]);
    }
    return result;
}

/// Makes `vector` orthogonal to the vectors of an orthonormal `basis`, with length 1 (Gram-Schmidt). Two passes,
/// because rounding errors remain after one.
void orthonormalize(Vector &vector, const std::vector<Vector> &basis) {
    for (int pass = 0; pass < 2; ++pass) {
        for (const Vector &base : basis) {
            const double component = product(vector, base);
            for (std::size_t i = 0; i < vector.size(); ++i) {
                vector[i] -= component * base[i];
            }
        }
    }
    const double length = std::sqrt(product(vector, vector));
    for (double &value : vector) {
        value /= length;
    }
}

} // namespace

Line fit_line(std::span<const double> x, std::span<const double> y, std::span<const double> weights) {
    const Vector normal = normalized(weights, x.size());
    const Vector times = around_mean(x, normal);
    return {mean(x, normal), mean(y, normal), product(times, around_mean(y, normal)) / product(times, times)};
}

double LineError::slope() const { return unit / std::sqrt(xx); }

double LineError::at(double x) const { return unit * std::hypot(1.0 / std::sqrt(count), (x - origin) / std::sqrt(xx)); }

LineError line_error(std::span<const double> x, std::span<const double> y, std::span<const double> weights) {
    const std::size_t count = x.size();
    const std::size_t degrees = std::min(cosines, count - 2); // of freedom; the line takes two
    const Vector normal = normalized(weights, count);
    const Vector times = around_mean(x, normal);
    const Vector values = around_mean(y, normal);
    Vector constant(count);
    std::ranges::transform(normal, constant.begin(), [](double weight) { return std::sqrt(weight); });
    std::vector<Vector> orthonormal = {constant, times};
    orthonormalize(orthonormal[0], {});
    orthonormalize(orthonormal[1], {orthonormal[0]});
    double squares = 0.0;
    // Cosines of 2, 3, ... half periods. The cosine of one half period is left out, since it resembles a line.
    for (std::size_t cosine = 0; cosine < degrees; ++cosine) {
        Vector next(count);
        for (std::size_t i = 0; i < count; ++i) {
            const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
            next[i] = constant[i] * std::cos(std::numbers::pi * static_cast<double>(cosine + 2) * position);
        }
        orthonormalize(next, orthonormal);
        squares += std::pow(product(next, values), 2);
        orthonormal.push_back(std::move(next));
    }
    const double deviation = std::sqrt(squares / static_cast<double>(degrees));
    return {static_cast<double>(count), mean(x, normal), product(times, times),
            student[degrees - 2] * deviation}; // student begins at 2 degrees
}

double explained_share(const Line &line, std::span<const double> x, std::span<const double> y,
                       std::span<const double> weights) {
    const Vector normal = normalized(weights, x.size());
    const double middle = mean(y, normal);
    double residual = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        residual += normal[i] * std::pow(y[i] - line.at(x[i]), 2);
        total += normal[i] * std::pow(y[i] - middle, 2);
    }
    // If all y are equal, a line explains them completely.
    return total > 0.0 ? std::max(0.0, 1.0 - residual / total) : 1.0;
}

} // namespace bench
