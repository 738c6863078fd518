// Fits lines to offsets, and describes the drift as a dataset (drift_results.h).
#include "experiments/drift_results.h"

#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <span>
#include <utility>
#include <vector>

namespace bench {
namespace {

/// The largest absolute value; 0 without values.
double largest(const std::vector<double> &values) {
    double largest = 0.0;
    for (const double value : values) {
        largest = std::max(largest, std::abs(value));
    }
    return largest;
}

/// Weights of offsets for the line: the inverse squares of their bounds, up to a factor, since errors are proportional
/// to the bounds. Ratios of bounds are limited, so that a single offset with a tiny bound does not determine the line.
std::vector<double> weights_of(const std::vector<double> &bounds) {
    constexpr double max_ratio = 1e4; // of two bounds
    const double widest = largest(bounds);
    return mapped(bounds, [&](double bound) { // equal weights if all bounds are 0
        return widest > 0.0 ? std::pow(std::max(bound, widest / max_ratio) / widest, -2) : 1.0;
    });
}

} // namespace

long DriftOptions::count() const {
    // 1e-9: a rounding error of the quotient must not drop the last measurement.
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

    // The line through the first half predicts the last offset. The middle of an odd number is in the first half.
    const std::size_t half = (count + 1) / 2;
    const Line predicted = fit_line(std::span(series.at).first(half), std::span(series.offset).first(half),
                                    std::span(weights).first(half));
    result.prediction_error = series.offset.back() - predicted.at(series.at.back());
    result.prediction_period = series.at.back() - series.at[half - 1];
    result.uncorrected_error = series.offset.back() - series.offset[half - 1];
    result.series = std::move(series);
    return result;
}

namespace {

using P = DriftPair;
using Fields = std::vector<FieldOf<P>>;

constexpr auto us = ColumnKind::microseconds;
constexpr auto ppm = ColumnKind::ppm;

/// An end of a confidence interval: `member` plus (`side` 1) or minus (`side` -1) `error`.
auto interval_end(double P::*member, double P::*error, double side) {
    return [=](const P &pair) { return pair.*member + side * pair.*error; };
}

/// The absolute value of `member`, divided by `period`, in ppm.
auto in_ppm(double P::*member, double P::*period) {
    return [=](const P &pair) { return std::abs(pair.*member) / (pair.*period) * 1e6; };
}

/// The values of a member of the pair's series.
auto series(std::vector<double> DriftSeries::*member) {
    return [member](const P &pair) { return pair.series.*member; };
}

const FieldOf<P> name_field = {"pair", "", "the two ranks, asker first",
                               [](const P &pair) { return describe_pair(pair.series.pair); },
                               Column{"", "pair", ColumnKind::name}};

/// Fields with a value per pair.
const Fields &pair_fields() {
    static const Fields declared = {
        {"asker", "", "rank that asked; times are on its clock", [](const P &pair) { return pair.series.pair.asker; }},
        {"answerer", "", "rank that answered", [](const P &pair) { return pair.series.pair.answerer; }},
        {"duration", "s", "time from the first measurement to the last", &P::duration},
        {"skew", "1", "slope of the least-squares line through the offsets", &P::skew, Column{"skew", "line", ppm}},
        {"skew_low", "1", "skew, lower end of its 95 % confidence interval",
         interval_end(&P::skew, &P::skew_error, -1.0), Column{"skew", "low", ppm}},
        {"skew_high", "1", "upper end of the same", interval_end(&P::skew, &P::skew_error, 1.0),
         Column{"skew", "high", ppm}},
        {"intercept", "s", "offset of the line at time 0 of the asker's local clock", &P::intercept,
         Column{"intercept", "line", us}},
        {"intercept_low", "s", "intercept, lower end of its 95 % confidence interval",
         interval_end(&P::intercept, &P::intercept_error, -1.0), Column{"intercept", "low", us}},
        {"intercept_high", "s", "upper end of the same", interval_end(&P::intercept, &P::intercept_error, 1.0),
         Column{"intercept", "high", us}},
        {"r_squared", "1", "share of the variance of offset explained by the line", &P::explained_share,
         Column{"", "R^2", ColumnKind::precise}},
        {"drift_max", "s", "largest |offset - first offset|", &P::largest_drift, Column{"drift", "max", us}},
        {"drift_ppm", "1e-6", "drift_max / duration", in_ppm(&P::largest_drift, &P::duration),
         Column{"drift", "ppm", ColumnKind::fine}},
        {"residual_max", "s", "largest |offset - line|", &P::largest_residual, Column{"residual", "max", us}},
        {"residual_rms", "s", "root mean square of offset - line", &P::rms_residual, Column{"residual", "RMS", us}},
        {"residual_ppm", "1e-6", "residual_max / duration", in_ppm(&P::largest_residual, &P::duration),
         Column{"residual", "ppm", ColumnKind::fine}},
        {"prediction_error", "s", "last offset - prediction of the line through the first half", &P::prediction_error,
         Column{"predicted", "line", us}},
        {"prediction_period", "s", "time from the end of the first half to the last measurement",
         &P::prediction_period},
        {"prediction_ppm", "1e-6", "|prediction_error| / prediction_period",
         in_ppm(&P::prediction_error, &P::prediction_period), Column{"predicted", "ppm", ColumnKind::fine}},
        {"uncorrected_error", "s", "last offset - last offset of the first half", &P::uncorrected_error,
         Column{"predicted", "no line", us}},
    };
    return declared;
}

/// Fields with a value per pair and measurement.
const Fields &fields_over_time() {
    static const Fields declared = {
        {"at", "s", "time at which the offset holds, on the asker's local clock", series(&DriftSeries::at)},
        {"offset", "s", "lead of the answerer's local clock over the asker's", series(&DriftSeries::offset)},
        {"offset_bound", "s", "bound of the error of offset", series(&DriftSeries::bound)},
        {"rtt", "s", "shortest round trip of the measurement", series(&DriftSeries::rtt)},
        {"drift", "s", "offset - first offset", &P::drift, Column{"over time", "drift", us}},
        {"residual", "s", "offset - least squares line, weighted by bounds", &P::residual,
         Column{"over time", "residual", us}},
    };
    return declared;
}

} // namespace

Dataset drift_dataset(const Context &context, const DriftOptions &options, const std::vector<double> &started,
                      const std::vector<DriftPair> &pairs) {
    Dataset data;
    data.title = "Offsets between the local clocks of pairs of ranks over time, measured by downbeat-bench drift";
    data.attributes = {{"experiment", std::string("drift")},
                       {"duration_s", options.duration},
                       {"interval_s", options.interval},
                       {"estimator", options.estimator},
                       {"rounds", options.rounds}};
    data.dimensions = {{"pair", pairs.size()}, {"time", started.size()}};
    data.add<P>({name_field}, {"pair"}, pairs);
    data.add({"time", "s", "start of this round of measurements, from the start of the first"}, {"time"}, started);
    data.add(pair_fields(), {"pair"}, pairs);
    data.add(fields_over_time(), {"pair"}, pairs, {"time"});
    add_ranks(data, context);
    return data;
}

} // namespace bench
