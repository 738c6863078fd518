#include "output/table/columns.h"
#include "output/table/sections.h"
#include "subcommands/drift/results.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace bench {
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
