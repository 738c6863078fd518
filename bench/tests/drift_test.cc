#include "experiments/drift_results.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace bench
