#include "subcommands/drift/results.h"

#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace bench {

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
    using P = DriftPair;
    const auto per_pair = [&](const char *name, const char *meaning, const char *unit, auto get) {
        data.add(name, {"pair"}, meaning, unit, collect(pairs, get));
    };
    const auto over_time = [&](const char *name, const char *meaning, auto get) {
        data.add(name, {"pair", "time"}, meaning, "s", collect(pairs, get));
    };
    const auto series = [](std::vector<double> DriftSeries::*member) {
        return [member](const P &pair) { return pair.series.*member; };
    };
    const auto around = [](double P::*member, double P::*error, double side) {
        return [=](const P &pair) { return pair.*member + side * pair.*error; };
    };
    const auto ppm = [](double P::*member, double P::*period) {
        return [=](const P &pair) { return std::abs(pair.*member) / (pair.*period) * 1e6; };
    };
    per_pair("pair", "the two ranks, asker first", "", [](const P &pair) { return describe(pair.series.pair); });
    data.add("time", {"time"}, "start of this round of measurements, from the start of the first", "s", started);
    per_pair("asker", "rank that asked; times are on its clock", "",
             [](const P &pair) { return pair.series.pair.asker; });
    per_pair("answerer", "rank that answered", "", [](const P &pair) { return pair.series.pair.answerer; });
    over_time("at", "time at which the offset holds, on the asker's local clock", series(&DriftSeries::at));
    over_time("offset", "lead of the answerer's local clock over the asker's", series(&DriftSeries::offset));
    over_time("offset_bound", "bound of the error of offset", series(&DriftSeries::bound));
    over_time("rtt", "shortest round trip of the measurement", series(&DriftSeries::rtt));
    over_time("drift", "offset - first offset", &P::drift);
    over_time("residual", "offset - least squares line", &P::residual);
    per_pair("duration", "time from the first measurement to the last", "s", &P::duration);
    per_pair("skew", "slope of the least squares line, relative", "1", &P::skew);
    per_pair("skew_low", "skew, lower end of its 95 % confidence interval", "1",
             around(&P::skew, &P::skew_error, -1.0));
    per_pair("skew_high", "upper end of the same", "1", around(&P::skew, &P::skew_error, 1.0));
    per_pair("intercept", "offset of the line at time 0 of the asker's local clock", "s", &P::intercept);
    per_pair("intercept_low", "intercept, lower end of its 95 % confidence interval", "s",
             around(&P::intercept, &P::intercept_error, -1.0));
    per_pair("intercept_high", "upper end of the same", "s", around(&P::intercept, &P::intercept_error, 1.0));
    per_pair("r_squared", "share of the variance of offset explained by the line", "1", &P::explained_share);
    per_pair("drift_max", "largest absolute drift", "s", &P::largest_drift);
    per_pair("drift_ppm", "largest absolute drift / duration", "1e-6", ppm(&P::largest_drift, &P::duration));
    per_pair("residual_max", "largest absolute residual", "s", &P::largest_residual);
    per_pair("residual_rms", "root mean square of the residuals", "s", &P::rms_residual);
    per_pair("residual_ppm", "largest absolute residual / duration", "1e-6", ppm(&P::largest_residual, &P::duration));
    per_pair("prediction_error", "last offset - prediction of the line through the first half", "s",
             &P::prediction_error);
    per_pair("prediction_period", "time from the end of the first half to the last measurement", "s",
             &P::prediction_period);
    per_pair("prediction_ppm", "absolute prediction_error / prediction_period", "1e-6",
             ppm(&P::prediction_error, &P::prediction_period));
    per_pair("uncorrected_error", "last offset - last offset of the first half", "s", &P::uncorrected_error);
    add_ranks(data, context);
    return data;
}

namespace {

constexpr std::size_t most_rows = 11;
constexpr std::size_t abreast = 3; // pairs side by side

constexpr const char *legend = "  skew       slope of the least-squares line through the offsets of the\n"
                               "             answerer's local clock from the asker's [ppm]\n"
                               "  drift      largest |offset - first offset| [us]\n"
                               "  residual   offset - least-squares line: largest absolute value, and RMS [us]\n"
                               "  predicted  last offset - prediction from the first half: by the line through\n"
                               "             it, and by its last offset, without a line [us]\n"
                               "  ppm        largest absolute value / duration of the run; for predicted: error\n"
                               "             by the line / time since the first half ended\n";

std::string summaries(const std::vector<DriftPair> &pairs) {
    ColumnTable table({{"", "pair", ColumnKind::name},
                       {"skew", "ppm", ColumnKind::text},
                       {"drift", "max", ColumnKind::microseconds},
                       {"drift", "ppm", ColumnKind::text},
                       {"residual", "max", ColumnKind::microseconds},
                       {"residual", "RMS", ColumnKind::microseconds},
                       {"residual", "ppm", ColumnKind::text},
                       {"predicted", "line", ColumnKind::microseconds},
                       {"predicted", "ppm", ColumnKind::text},
                       {"predicted", "no line", ColumnKind::microseconds}});
    const auto ppm = [](double drift, double seconds) { return fmt::format("{:.4f}", drift / seconds * 1e6); };
    for (const DriftPair &pair : pairs) {
        table.add({describe(pair.series.pair), fmt::format("{:.3f}", pair.skew * 1e6), pair.largest_drift,
                   ppm(pair.largest_drift, pair.duration), pair.largest_residual, pair.rms_residual,
                   ppm(pair.largest_residual, pair.duration), pair.prediction_error,
                   ppm(std::abs(pair.prediction_error), pair.prediction_period), pair.uncorrected_error});
    }
    return table.text();
}

std::string lines(const std::vector<DriftPair> &pairs) {
    ColumnTable table({{"", "pair", ColumnKind::name},
                       {"skew [ppm]", "estimate", ColumnKind::text},
                       {"skew [ppm]", "+-", ColumnKind::text},
                       {"intercept [us]", "estimate", ColumnKind::text},
                       {"intercept [us]", "+-", ColumnKind::text},
                       {"", "R^2", ColumnKind::text}});
    for (const DriftPair &pair : pairs) {
        table.add({describe(pair.series.pair), fmt::format("{:.5f}", pair.skew * 1e6),
                   fmt::format("{:.5f}", pair.skew_error * 1e6), fmt::format("{:.3f}", pair.intercept * 1e6),
                   fmt::format("{:.3f}", pair.intercept_error * 1e6), fmt::format("{:.9f}", pair.explained_share)});
    }
    return table.text();
}

std::string over_time(const std::vector<double> &started, std::span<const DriftPair> pairs) {
    std::vector<Column> columns = {{"", "time [s]", ColumnKind::text}};
    for (const DriftPair &pair : pairs) {
        const std::string name = "pair " + describe(pair.series.pair);
        columns.push_back({name, "drift", ColumnKind::microseconds});
        columns.push_back({name, "residual", ColumnKind::microseconds});
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

std::string drift_table(const DriftOptions &options, const std::vector<double> &started,
                        const std::vector<DriftPair> &pairs) {
    std::string text = line_above("samples", fmt::format("{} offsets per pair over {:.1f} s, every {} s",
                                                         started.size(), started.back(), options.interval)) +
                       line_above("", fmt::format("each by {}, the best of {}", options.estimator, options.rounds));
    text += fmt::format("\n{}\n{}\n"
                        "the line: skew, and intercept at time 0 of the asker's local clock; +-: half of\n"
                        "the 95 % interval\n{}\n"
                        "over time: drift and residual [us]\n",
                        legend, summaries(pairs), lines(pairs));
    for (std::size_t i = 0; i < pairs.size(); i += abreast) {
        text +=
            (i == 0 ? "" : "\n") + over_time(started, std::span(pairs).subspan(i, std::min(abreast, pairs.size() - i)));
    }
    return text;
}

} // namespace bench
