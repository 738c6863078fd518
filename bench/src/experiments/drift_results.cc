#include "experiments/drift_results.h"

#include "experiments/drift_line.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace bench {
namespace {

double largest(const std::vector<double> &values) {
    double largest = 0.0;
    for (const double value : values) {
        largest = std::max(largest, std::abs(value));
    }
    return largest;
}

/// Inverse variances, up to a factor, of offsets whose errors are bounded: an error is as large as its bound allows.
/// None counts more than 10^8 times as much as another, so that there is a line if all but one are vague.
std::vector<double> weights_of(const std::vector<double> &bounds) {
    constexpr double most = 1e4; // of bounds
    const double vaguest = largest(bounds);
    std::vector<double> weights;
    for (const double bound : bounds) {
        weights.push_back(vaguest > 0.0 ? std::pow(std::max(bound, vaguest / most) / vaguest, -2) : 1.0);
    }
    return weights;
}

} // namespace

long DriftOptions::count() const {
    // A remainder that is only rounding must not drop the last measurement.
    return std::lround(std::floor(duration / interval + 1e-9)) + 1;
}

DriftPair study_drift(DriftSeries series) {
    const std::size_t count = series.at.size();
    const std::vector<double> weights = weights_of(series.bound);
    const Line line = fit_line(series.at, series.offset, weights);
    DriftPair result{};
    result.duration = series.at.back() - series.at.front();
    const LineError error = line_error(series.at, series.offset, weights);
    result.skew = line.slope;
    result.skew_error = error.slope();
    result.intercept = line.at(0.0);
    result.intercept_error = error.at(0.0);
    result.explained_share = explained_share(line, series.at, series.offset, weights);
    double squares = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        result.drift.push_back(series.offset[i] - series.offset.front());
        result.residual.push_back(series.offset[i] - line.at(series.at[i]));
        squares += result.residual.back() * result.residual.back();
    }
    result.largest_drift = largest(result.drift);
    result.largest_residual = largest(result.residual);
    result.rms_residual = std::sqrt(squares / static_cast<double>(count));

    const std::size_t half = (count + 1) / 2;
    const Line predicted = fit_line(std::span(series.at).first(half), std::span(series.offset).first(half),
                                    std::span(weights).first(half));
    result.prediction_error = series.offset.back() - predicted.at(series.at.back());
    result.prediction_period = series.at.back() - series.at[half - 1];
    result.uncorrected_error = series.offset.back() - series.offset[half - 1];
    result.series = std::move(series);
    return result;
}

} // namespace bench
