#include "experiments/drift_results.h"

#include "output/table.h"
#include "text/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace bench {
namespace {

using Vector = std::vector<double>;

// Few waves make intervals wider, many are faster than what disturbs the line: with four they cover what
// drift_test.cc says, and are 1.3 times as wide as if the variance were known.
constexpr std::size_t waves = 4;

// The 97.5 % quantiles of Student's distribution for 2, 3 and 4 degrees of freedom.
constexpr std::array<double, 3> student = {4.302653, 3.182446, 2.776445};

/// Weights whose mean is 1, so that equal ones count points.
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

double mean(std::span<const double> values, const Vector &weights) {
    return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0) / static_cast<double>(values.size());
}

double product(const Vector &a, const Vector &b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Less their mean, each times the root of its weight: then all are equally exact.
Vector around_mean(std::span<const double> values, const Vector &weights) {
    Vector result(values.begin(), values.end());
    const double middle = mean(values, weights);
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] = (result[i] - middle) * std::sqrt(weights[i]);
    }
    return result;
}

/// Makes `vector` orthogonal to orthonormal ones, and 1 long. Twice, since once leaves rounding errors in it.
void orthonormalize(Vector &vector, const std::vector<Vector> &others) {
    for (int pass = 0; pass < 2; ++pass) {
        for (const Vector &other : others) {
            const double component = product(vector, other);
            for (std::size_t i = 0; i < vector.size(); ++i) {
                vector[i] -= component * other[i];
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
    const std::size_t degrees = std::min(waves, count - 2);
    const Vector normal = normalized(weights, count);
    const Vector times = around_mean(x, normal);
    const Vector values = around_mean(y, normal); // near zero, sums keep their digits
    Vector constant(count);
    std::ranges::transform(normal, constant.begin(), [](double weight) { return std::sqrt(weight); });
    std::vector<Vector> orthonormal = {constant, times};
    orthonormalize(orthonormal[0], {});
    orthonormalize(orthonormal[1], {orthonormal[0]});
    double squares = 0.0;
    for (std::size_t wave = 0; wave < degrees; ++wave) {
        Vector next(count);
        for (std::size_t i = 0; i < count; ++i) {
            const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
            next[i] = constant[i] * std::cos(std::numbers::pi * static_cast<double>(wave + 2) * position);
        }
        orthonormalize(next, orthonormal);
        squares += std::pow(product(next, values), 2);
        orthonormal.push_back(std::move(next));
    }
    const double deviation = std::sqrt(squares / static_cast<double>(degrees));
    return {static_cast<double>(count), mean(x, normal), product(times, times), student[degrees - 2] * deviation};
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
    return total > 0.0 ? std::max(0.0, 1.0 - residual / total) : 1.0;
}

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
    return mapped(bounds, [&](double bound) {
        return vaguest > 0.0 ? std::pow(std::max(bound, vaguest / most) / vaguest, -2) : 1.0;
    });
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

namespace {

using P = DriftPair;
using Fields = std::vector<FieldOf<P>>;

constexpr auto us = ColumnKind::microseconds;
constexpr auto ppm = ColumnKind::ppm;

auto half_beside(double P::*member, double P::*error, double side) {
    return [=](const P &pair) { return pair.*member + side * pair.*error; };
}

auto in_ppm(double P::*member, double P::*period) {
    return [=](const P &pair) { return std::abs(pair.*member) / (pair.*period) * 1e6; };
}

auto series(std::vector<double> DriftSeries::*member) {
    return [member](const P &pair) { return pair.series.*member; };
}

const FieldOf<P> name_field = {"pair", "", "the two ranks, asker first",
                               [](const P &pair) { return describe_pair(pair.series.pair); },
                               Column{"", "pair", ColumnKind::name}};

const Fields &whole_fields() {
    static const Fields all = {
        {"asker", "", "rank that asked; times are on its clock", [](const P &pair) { return pair.series.pair.asker; }},
        {"answerer", "", "rank that answered", [](const P &pair) { return pair.series.pair.answerer; }},
        {"duration", "s", "time from the first measurement to the last", &P::duration},
        {"skew", "1", "slope of the least-squares line through the offsets", &P::skew, Column{"", "skew", ppm}},
        {"skew_low", "1", "skew, lower end of its 95 % confidence interval",
         half_beside(&P::skew, &P::skew_error, -1.0)},
        {"skew_high", "1", "upper end of the same", half_beside(&P::skew, &P::skew_error, 1.0)},
        {"intercept", "s", "offset of the line at time 0 of the asker's local clock", &P::intercept},
        {"intercept_low", "s", "intercept, lower end of its 95 % confidence interval",
         half_beside(&P::intercept, &P::intercept_error, -1.0)},
        {"intercept_high", "s", "upper end of the same", half_beside(&P::intercept, &P::intercept_error, 1.0)},
        {"r_squared", "1", "share of the variance of offset explained by the line", &P::explained_share},
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
    return all;
}

/// Series, each with its element of every round of measurements.
const Fields &fields_over_time() {
    static const Fields all = {
        {"at", "s", "time at which the offset holds, on the asker's local clock", series(&DriftSeries::at)},
        {"offset", "s", "lead of the answerer's local clock over the asker's", series(&DriftSeries::offset)},
        {"offset_bound", "s", "bound of the error of offset", series(&DriftSeries::bound)},
        {"rtt", "s", "shortest round trip of the measurement", series(&DriftSeries::rtt)},
        {"drift", "s", "offset - first offset", &P::drift},
        {"residual", "s", "offset - least squares line, weighted by bounds", &P::residual},
    };
    return all;
}

/// The line with its uncertainty.
std::vector<ColumnOf<P>> line_columns() {
    const auto number = [](const char *group, const char *heading, ColumnKind kind, double P::*member) {
        return ColumnOf<P>{{group, heading, kind}, [member](const P &pair) -> ColumnEntry { return pair.*member; }};
    };
    return {column_of(name_field),
            number("skew [ppm]", "estimate", ppm, &P::skew),
            number("skew [ppm]", "+-", ppm, &P::skew_error),
            number("intercept [us]", "estimate", us, &P::intercept),
            number("intercept [us]", "+-", us, &P::intercept_error),
            number("", "R^2", ColumnKind::precise, &P::explained_share)};
}

constexpr std::size_t most_rows = 11;
constexpr std::size_t abreast = 3; // pairs side by side

std::string over_time(const std::vector<double> &started, std::span<const DriftPair> pairs) {
    std::vector<Column> columns = {{"", "time [s]", ColumnKind::text}};
    for (const DriftPair &pair : pairs) {
        const std::string group = "pair " + describe_pair(pair.series.pair);
        columns.push_back({group, "drift", us});
        columns.push_back({group, "residual", us});
    }
    ColumnTable table(columns);
    const std::size_t rows = std::min(most_rows, started.size());
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t i = row * (started.size() - 1) / (rows - 1);
        std::vector<ColumnEntry> entries = {fmt::format("{:.1f}", started[i])};
        for (const DriftPair &pair : pairs) {
            entries.emplace_back(pair.drift[i]);
            entries.emplace_back(pair.residual[i]);
        }
        table.add(std::move(entries));
    }
    return table.text();
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
    data.add(whole_fields(), {"pair"}, pairs);
    data.add(fields_over_time(), {"pair"}, pairs, {"time"});
    add_ranks(data, context);
    return data;
}

std::string drift_table(const DriftOptions &options, const std::vector<double> &started,
                        const std::vector<DriftPair> &pairs) {
    Fields shown = {name_field};
    shown.insert(shown.end(), whole_fields().begin(), whole_fields().end());
    const std::vector<ColumnOf<P>> columns = columns_of(shown);
    std::string text = line_above("samples", fmt::format("{} offsets per pair over {:.1f} s, every {} s",
                                                         started.size(), started.back(), options.interval)) +
                       line_above("", fmt::format("each by {}, the best of {}", options.estimator, options.rounds)) +
                       fmt::format("\n{}\n{}\n"
                                   "the line: skew, and intercept at time 0 of the asker's local clock; +-: half of\n"
                                   "the 95 % interval\n{}\n"
                                   "over time: drift and residual [us]\n",
                                   legend_of(columns), table_of(columns, pairs), table_of(line_columns(), pairs));
    for (std::size_t i = 0; i < pairs.size(); i += abreast) {
        text +=
            (i == 0 ? "" : "\n") + over_time(started, std::span(pairs).subspan(i, std::min(abreast, pairs.size() - i)));
    }
    return text;
}

} // namespace bench
