#include "rules/distributions.h"

#include <cmath>
#include <numbers>

namespace bench {
namespace {

// By bisection of the distribution function: the standard library has no quantiles.
template <typename Distribution> double quantile(double p, double low, double high, Distribution below) {
    while (high - low > 1e-13 * (1.0 + std::abs(low))) {
        const double middle = (low + high) / 2.0;
        (below(middle) < p ? low : high) = middle;
    }
    return low;
}

// Abramowitz and Stegun 1964, 26.7.3 and 26.7.4: finite sums, for whole degrees of freedom.
double student_below(double t, long freedom) {
    const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
    const double cosine = std::cos(angle);
    const bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1.0;
    double sum = freedom == 1 ? 0.0 : term;
    for (long k = odd ? 3 : 2; k < freedom; k += 2) {
        term *= static_cast<double>(k - 1) / static_cast<double>(k) * cosine * cosine;
        sum += term;
    }
    sum *= std::sin(angle);
    const double within = odd ? (angle + sum) * 2.0 / std::numbers::pi : sum;
    return 0.5 + within / 2.0;
}

// The expansion 26.7.5 from the normal quantile: from 200 degrees of freedom on the next term is below 1e-8, up to a
// confidence of 99 %.
double student_from_normal(double z, double freedom) {
    const double z3 = std::pow(z, 3);
    const double z5 = std::pow(z, 5);
    const double z7 = std::pow(z, 7);
    return z + (z3 + z) / (4.0 * freedom) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * std::pow(freedom, 2)) +
           (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * std::pow(freedom, 3));
}

constexpr long many = 200; // degrees of freedom from which student_from_normal is exact to 1e-8

} // namespace

double normal_quantile(double p) {
    return quantile(p, -10.0, 10.0, [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); });
}

double student_quantile(double p, long freedom) {
    if (freedom >= many) {
        return student_from_normal(normal_quantile(p), static_cast<double>(freedom));
    }
    return quantile(p, 0.0, 1e5, [freedom](double t) { return student_below(t, freedom); });
}

} // namespace bench
