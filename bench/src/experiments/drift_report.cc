#include "experiments/drift_results.h"

#include "output/table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace bench {
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

const FieldOf<P> name_field =
    field_of<P>("pair", "", "the two ranks, asker first", [](const P &pair) { return describe(pair.series.pair); },
                {"", "pair", ColumnKind::name});

const Fields &whole_fields() {
    static const Fields all = {
        field_of<P>("asker", "", "rank that asked; times are on its clock",
                    [](const P &pair) { return pair.series.pair.asker; }),
        field_of<P>("answerer", "", "rank that answered", [](const P &pair) { return pair.series.pair.answerer; }),
        field_of<P>("duration", "s", "time from the first measurement to the last", &P::duration),
        field_of<P>("skew", "1", "slope of the least-squares line through the offsets", &P::skew, {"", "skew", ppm}),
        field_of<P>("skew_low", "1", "skew, lower end of its 95 % confidence interval",
                    half_beside(&P::skew, &P::skew_error, -1.0)),
        field_of<P>("skew_high", "1", "upper end of the same", half_beside(&P::skew, &P::skew_error, 1.0)),
        field_of<P>("intercept", "s", "offset of the line at time 0 of the asker's local clock", &P::intercept),
        field_of<P>("intercept_low", "s", "intercept, lower end of its 95 % confidence interval",
                    half_beside(&P::intercept, &P::intercept_error, -1.0)),
        field_of<P>("intercept_high", "s", "upper end of the same",
                    half_beside(&P::intercept, &P::intercept_error, 1.0)),
        field_of<P>("r_squared", "1", "share of the variance of offset explained by the line", &P::explained_share),
        field_of<P>("drift_max", "s", "largest |offset - first offset|", &P::largest_drift, {"drift", "max", us}),
        field_of<P>("drift_ppm", "1e-6", "drift_max / duration", in_ppm(&P::largest_drift, &P::duration),
                    {"drift", "ppm", ColumnKind::fine}),
        field_of<P>("residual_max", "s", "largest |offset - line|", &P::largest_residual, {"residual", "max", us}),
        field_of<P>("residual_rms", "s", "root mean square of offset - line", &P::rms_residual,
                    {"residual", "RMS", us}),
        field_of<P>("residual_ppm", "1e-6", "residual_max / duration", in_ppm(&P::largest_residual, &P::duration),
                    {"residual", "ppm", ColumnKind::fine}),
        field_of<P>("prediction_error", "s", "last offset - prediction of the line through the first half",
                    &P::prediction_error, {"predicted", "line", us}),
        field_of<P>("prediction_period", "s", "time from the end of the first half to the last measurement",
                    &P::prediction_period),
        field_of<P>("prediction_ppm", "1e-6", "|prediction_error| / prediction_period",
                    in_ppm(&P::prediction_error, &P::prediction_period), {"predicted", "ppm", ColumnKind::fine}),
        field_of<P>("uncorrected_error", "s", "last offset - last offset of the first half", &P::uncorrected_error,
                    {"predicted", "no line", us}),
    };
    return all;
}

/// Series, each with its element of every round of measurements.
const Fields &fields_over_time() {
    static const Fields all = {
        field_of<P>("at", "s", "time at which the offset holds, on the asker's local clock", series(&DriftSeries::at)),
        field_of<P>("offset", "s", "lead of the answerer's local clock over the asker's", series(&DriftSeries::offset)),
        field_of<P>("offset_bound", "s", "bound of the error of offset", series(&DriftSeries::bound)),
        field_of<P>("rtt", "s", "shortest round trip of the measurement", series(&DriftSeries::rtt)),
        field_of<P>("drift", "s", "offset - first offset", &P::drift),
        field_of<P>("residual", "s", "offset - least squares line", &P::residual),
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
        const std::string group = "pair " + describe(pair.series.pair);
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
