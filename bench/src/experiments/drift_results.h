#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/line_fit.h"
#include "text/parse.h"

#include <string>
#include <vector>

namespace bench {

/// The measurements of one pair. Seconds; [time].
struct DriftSeries {
    Pair pair;
    std::vector<double> at;     // on the asker's local clock
    std::vector<double> offset; // by which the answerer's local clock is ahead
    std::vector<double> bound;  // of the error of offset
    std::vector<double> rtt;    // shortest of the measurement
};

/// Drift of one pair. Parts per million are microseconds per second: the largest absolute value of the run divided by
/// the run's duration.
struct DriftPair {
    DriftSeries series;
    double duration;              // seconds, from the first measurement to the last
    std::vector<double> drift;    // offset - first offset, seconds
    std::vector<double> residual; // offset - least squares line, weighted by bounds, seconds
    double skew;                  // slope of the line, relative
    double skew_error;            // half of its 95 % confidence interval, see line_error
    double intercept;             // of the line at 0 of the asker's local clock, seconds
    double intercept_error;       // half of its 95 % confidence interval, seconds
    double explained_share;       // of the variance of the offsets, by the line (R^2)
    double largest_drift;         // absolute, seconds
    double largest_residual;      // absolute, seconds
    double rms_residual;          // seconds
    double prediction_error;      // last offset - prediction of the line through the first half, seconds
    double prediction_period;     // from the last measurement of the first half to the last one, seconds
    double uncorrected_error;     // last offset - last offset of the first half, seconds
};

/// The first half are the first (n + 1) / 2 of the n measurements; n is 4 at least.
DriftPair study_drift(DriftSeries series);

struct DriftOptions {
    std::vector<Pair> pairs;
    double duration = 60.0; // seconds
    double interval = 0.5;  // seconds
    std::string estimator;  // of kind "offset"
    /// Each measurement is the best of this many, i.e. the one with the smallest bound, so that losing the processor
    /// for a moment does not look like drift.
    long rounds = 3;

    /// Measurements of each pair.
    long count() const;
};

/// `started`: when each round of measurements began, seconds since the first.
Dataset drift_dataset(const Context &context, const DriftOptions &options, const std::vector<double> &started,
                      const std::vector<DriftPair> &pairs);

} // namespace bench
