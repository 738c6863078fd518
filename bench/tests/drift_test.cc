#include "findings/drift/line.h"
#include "findings/drift/results.h"

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
