// Results of `downbeat-bench drift`: offsets between the local clocks of pairs of ranks over time, and the line through
// them, whose slope is the skew, i.e. the relative difference of the clocks' rates.
#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/line_fit.h"
#include "text/parse.h"

#include <string>
#include <vector>

namespace bench {

/// The measurements of a pair, s.
struct DriftSeries {
    Pair pair;
    std::vector<double> at;     // [time] time of the measurement on the asker's local clock
    std::vector<double> offset; // [time] lead of the answerer's local clock over the asker's
    std::vector<double> bound;  // [time] bound of the error of `offset`
    std::vector<double> rtt;    // [time] shortest round trip of the measurement
};

/// The drift of a pair. Its line is the least squares line through the offsets, weighted by their bounds.
struct DriftPair {
    DriftSeries series;
    double duration;              // from the first measurement to the last, s
    std::vector<double> drift;    // [time] offset - first offset, s
    std::vector<double> residual; // [time] offset - line, s
    double skew;                  // slope of the line
    double skew_error;            // half of the 95 % confidence interval of the skew, see line_error
    double intercept;             // value of the line at time 0 of the asker's local clock, s
    double intercept_error;       // half of the 95 % confidence interval of the intercept, s
    double explained_share;       // share of the variance of the offsets that the line explains (R^2)
    double largest_drift;         // largest absolute drift, s
    double largest_residual;      // largest absolute residual, s
    double rms_residual;          // root mean square of the residuals, s
    double prediction_error;      // last offset - prediction of the line through the first half, s
    double prediction_period;     // from the last measurement of the first half to the last measurement, s
    double uncorrected_error;     // last offset - last offset of the first half, s
};

/// Computes the drift of a pair from n >= 4 measurements. The first half are the first (n + 1) / 2 measurements.
DriftPair study_drift(DriftSeries series);

/// The options of the subcommand.
struct DriftOptions {
    std::vector<Pair> pairs;
    double duration = 60.0; // of the run, s
    double interval = 0.5;  // between measurements of a pair, s
    std::string estimator;  // offset estimator
    long rounds = 3;        // attempts of a measurement; that with the smallest bound counts, i.e. the least disturbed

    /// The number of measurements of each pair.
    long count() const;
};

/// `started`: begin of each round of measurements, s since the first round.
Dataset drift_dataset(const Context &context, const DriftOptions &options, const std::vector<double> &started,
                      const std::vector<DriftPair> &pairs);

} // namespace bench
