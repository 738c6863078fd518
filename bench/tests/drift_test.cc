#include "experiments/drift_results.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace bench {
namespace {

DriftSeries series(const std::vector<double> &at, const std::vector<double> &offset) {
    return {{0, 1}, at, offset, std::vector<double>(at.size(), 0.0), std::vector<double>(at.size(), 0.0)};
}

TEST(Drift, LeastSquaresFindsALine) {
    const Line line = fit_line(std::vector<double>{1, 2, 3, 6}, std::vector<double>{5, 7, 9, 15});
    EXPECT_DOUBLE_EQ(line.slope, 2.0);
    EXPECT_DOUBLE_EQ(line.at(0.0), 3.0);
    EXPECT_DOUBLE_EQ(line.at(10.0), 23.0);
}

TEST(Drift, LeastSquaresOfAKnownScatter) {
    // Normal equations by hand: means 1.5 and 2.5, xy 4, xx 5.
    const Line line = fit_line(std::vector<double>{0, 1, 2, 3}, std::vector<double>{1, 3, 2, 4});
    EXPECT_DOUBLE_EQ(line.slope, 0.8);
    EXPECT_DOUBLE_EQ(line.at(0.0), 1.3);
}

TEST(Drift, OffsetsCountByTheirBounds) {
    // A clock 8.4 ppm fast; two offsets are disturbed, and their bounds say so.
    DriftSeries found = series({0, 1, 2, 3, 4, 5, 6, 7}, {});
    for (const double at : found.at) {
        found.offset.push_back(8.4e-6 * at + (static_cast<int>(at) % 2 == 0 ? 1e-9 : -1e-9));
        found.bound[static_cast<std::size_t>(at)] = 5e-8;
    }
    found.offset[6] += 4e-3;
    found.bound[6] = 5e-3;
    found.offset[1] -= 3e-3;
    found.bound[1] = 5e-3;
    const DriftPair pair = study_drift(found);
    EXPECT_NEAR(pair.skew, 8.4e-6, 2e-9);
    EXPECT_LT(pair.skew_error, 5e-9);
    EXPECT_GT(pair.explained_share, 0.999);
    EXPECT_NEAR(pair.largest_residual, 4e-3, 1e-7); // residuals are what they are
    const DriftPair plain = study_drift(series(found.at, found.offset));
    EXPECT_GT(plain.skew_error, 1e-5); // equal bounds: equal weights
}

TEST(Drift, LongTimesLoseNoDigits) {
    const double origin = 1e7; // seconds
    const Line line =
        fit_line(std::vector<double>{origin, origin + 1, origin + 2}, std::vector<double>{1.0, 1.0 + 1e-6, 1.0 + 2e-6});
    EXPECT_NEAR(line.slope, 1e-6, 1e-15);
}

TEST(Drift, AConstantSkewLeavesNoResidual) {
    const DriftPair pair =
        study_drift(series({10, 11, 12, 13, 14}, {1.0, 1.0 + 2e-6, 1.0 + 4e-6, 1.0 + 6e-6, 1.0 + 8e-6}));
    EXPECT_NEAR(pair.skew, 2e-6, 1e-14);
    EXPECT_DOUBLE_EQ(pair.duration, 4.0);
    EXPECT_EQ(pair.drift.front(), 0.0);
    EXPECT_NEAR(pair.largest_drift, 8e-6, 1e-14);
    EXPECT_NEAR(pair.largest_residual, 0.0, 1e-14);
    EXPECT_NEAR(pair.prediction_error, 0.0, 1e-14);
    EXPECT_NEAR(pair.uncorrected_error, 4e-6, 1e-14); // from the third, the last of the first half
    EXPECT_DOUBLE_EQ(pair.prediction_period, 2.0);
}

TEST(Drift, ASkewThatChangesInTheMiddleIsNotPredicted) {
    const DriftPair pair = study_drift(series({0, 1, 2, 3}, {0.0, -1e-6, -1e-6, 1e-6}));
    EXPECT_NEAR(pair.skew, 0.3e-6, 1e-15);        // by hand: xy 1.5e-6, xx 5
    EXPECT_NEAR(pair.residual[3], 0.8e-6, 1e-15); // mean -0.25e-6 + 1.5 x 0.3e-6 = 0.2e-6
    EXPECT_NEAR(pair.largest_residual, 0.9e-6, 1e-15);
    EXPECT_NEAR(pair.rms_residual, 0.75828754e-6, 1e-13); // residuals 0.7, -0.6, -0.9, 0.8
    EXPECT_NEAR(pair.prediction_error, 4e-6, 1e-15);      // the line says -3e-6
    EXPECT_DOUBLE_EQ(pair.prediction_period, 2.0);
    EXPECT_EQ(pair.largest_drift, 1e-6);
}

TEST(Drift, CountsTheMeasurementsOfARun) {
    const auto count = [](double duration, double interval) {
        DriftOptions options;
        options.duration = duration;
        options.interval = interval;
        return options.count();
    };
    EXPECT_EQ(count(60.0, 0.5), 121);
    EXPECT_EQ(count(0.3, 0.1), 4); // though 0.3 / 0.1 is below 3
    EXPECT_EQ(count(1.0, 0.4), 3);
}

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
