#include "experiments/drift_results.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace bench {
namespace {

using Vector = std::vector<double>;
using Noise = std::function<Vector(std::size_t count, std::mt19937_64 &random)>;

constexpr double truth = 3.0;
constexpr double at_zero = 7.0;
constexpr double begin = 2.0; // the line at 0 is read outside of the points, as a clock's intercept is

/// First-order autoregressive, standard deviation 1; every so often an outlier of up to many times that.
Noise autoregressive(double correlation, double outliers = 0.0) {
    return [=](std::size_t count, std::mt19937_64 &random) {
        std::normal_distribution<double> normal;
        std::exponential_distribution<double> large(0.1);
        std::uniform_real_distribution<double> uniform;
        Vector noise(count);
        double value = normal(random);
        for (double &sample : noise) {
            value = correlation * value + std::sqrt(1.0 - correlation * correlation) * normal(random);
            sample = value + (uniform(random) < outliers ? large(random) : 0.0);
        }
        return noise;
    };
}

struct Coverage {
    double slope;
    double intercept;
};

Coverage simulate(std::size_t count, const Noise &noise, double mean_noise = 0.0) {
    constexpr int runs = 2000;
    std::mt19937_64 random(11);
    Vector x(count);
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = begin + 0.5 * static_cast<double>(i);
    }
    int slopes = 0;
    int intercepts = 0;
    for (int run = 0; run < runs; ++run) {
        Vector y = noise(count, random);
        for (std::size_t i = 0; i < count; ++i) {
            y[i] += at_zero + truth * x[i];
        }
        const Line line = fit_line(x, y);
        const LineError error = line_error(x, y);
        slopes += std::abs(line.slope - truth) <= error.slope() ? 1 : 0;
        intercepts += std::abs(line.at(0.0) - at_zero - mean_noise) <= error.at(0.0) ? 1 : 0;
    }
    return {static_cast<double>(slopes) / runs, static_cast<double>(intercepts) / runs};
}

void expect_nominal(const Coverage &coverage) {
    EXPECT_NEAR(coverage.slope, 0.95, 0.03);
    EXPECT_NEAR(coverage.intercept, 0.95, 0.03);
}

TEST(LineError, CoversWhereResidualsAreIndependent) {
    for (const std::size_t count : {4U, 5U, 6U, 31U, 121U}) {
        SCOPED_TRACE(count);
        expect_nominal(simulate(count, autoregressive(0.0)));
    }
}

TEST(LineError, CoversWhereResidualsHangTogether) {
    expect_nominal(simulate(31, autoregressive(0.5)));
    expect_nominal(simulate(121, autoregressive(0.6)));
    expect_nominal(simulate(121, autoregressive(0.8)));
    expect_nominal(simulate(600, autoregressive(0.95)));
}

TEST(LineError, CoversWhereOutliersHideThat) {
    const double share = 0.02;
    expect_nominal(simulate(121, autoregressive(0.0, share), share * 10.0));
    expect_nominal(simulate(121, autoregressive(0.6, share), share * 10.0));
}

/// A frequency that wanders: what the line is compared with is the mean frequency of the run.
TEST(LineError, CoversTheMeanFrequencyWhereItWanders) {
    constexpr int runs = 2000;
    constexpr std::size_t count = 121;
    std::mt19937_64 random(12);
    std::normal_distribution<double> normal;
    int covered = 0;
    for (int run = 0; run < runs; ++run) {
        Vector x(count);
        Vector y(count);
        double frequency = 0.0;
        for (std::size_t i = 1; i < count; ++i) {
            frequency += normal(random);
            x[i] = static_cast<double>(i);
            y[i] = y[i - 1] + frequency;
        }
        const double mean = y.back() / x.back();
        covered += std::abs(fit_line(x, y).slope - mean) <= line_error(x, y).slope() ? 1 : 0;
    }
    EXPECT_GE(static_cast<double>(covered) / runs, 0.92);
}

TEST(LineError, LongTimesLoseNoDigits) {
    Vector x;
    Vector far;
    Vector y;
    for (int i = 0; i < 100; ++i) {
        x.push_back(i);
        far.push_back(i + 1e7);
        y.push_back(1e-6 * i + 1e-9 * std::sin(i * i));
    }
    EXPECT_NEAR(line_error(far, y).slope() / line_error(x, y).slope(), 1.0, 1e-6);
    // Hunold 2015, section 6: an intercept at a clock's own beginning is as uncertain as the slope over that time.
    EXPECT_NEAR(line_error(far, y).at(0.0) / (line_error(x, y).slope() * 1e7), 1.0, 1e-3);
}

TEST(LineError, ExplainsAllOrNothing) {
    const Vector x = {0, 1, 2, 3};
    const Vector line = {1, 3, 5, 7};
    const Vector none = {1, -1, -1, 1};
    const Vector scatter = {1, 3, 2, 4}; // total 5; the line explains 0.8 x 0.8 x 5 = 3.2
    EXPECT_DOUBLE_EQ(explained_share(fit_line(x, line), x, line), 1.0);
    EXPECT_NEAR(explained_share(fit_line(x, none), x, none), 0.0, 1e-15);
    EXPECT_DOUBLE_EQ(explained_share(fit_line(x, scatter), x, scatter), 0.64);
}

} // namespace
} // namespace bench
