#include "findings/drift/results.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>

namespace bench {
namespace {

constexpr std::size_t most_rows = 11;
constexpr std::size_t abreast = 5; // pairs side by side

std::string summary(const DriftPair &pair) {
    const double to_ppm = 1e6 / pair.duration;
    return fmt::format("{:<9}{:10.3f}{:12.3f}{:10.4f}{:11.1f}{:9.1f}{:10.4f}{:12.1f}{:10.4f}{:14.1f}\n",
                       describe(pair.series.pair), pair.skew * 1e6, pair.largest_drift * 1e6,
                       pair.largest_drift * to_ppm, pair.largest_residual * 1e9, pair.rms_residual * 1e9,
                       pair.largest_residual * to_ppm, pair.prediction_error * 1e9,
                       std::abs(pair.prediction_error) / pair.prediction_period * 1e6, pair.uncorrected_error * 1e9);
}

std::string line(const DriftPair &pair) {
    return fmt::format("{:<9}{:12.5f}{:10.5f}{:18.3f}{:10.3f}{:14.9f}\n", describe(pair.series.pair), pair.skew * 1e6,
                       pair.skew_error * 1e6, pair.intercept * 1e6, pair.intercept_error * 1e6, pair.explained_share);
}

std::string over_time(const std::vector<double> &started, std::span<const DriftPair> pairs) {
    std::string text = "\n          ";
    std::string header = "  time [s]";
    for (const DriftPair &pair : pairs) {
        text += fmt::format("  {:>18}", "pair " + describe(pair.series.pair));
        header += fmt::format("  {:>9}{:>9}", "drift", "residual");
    }
    text += "\n" + header + "\n";
    const std::size_t rows = std::min(most_rows, started.size());
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t i = row * (started.size() - 1) / (rows - 1);
        text += fmt::format("{:10.1f}", started[i]);
        for (const DriftPair &pair : pairs) {
            text += fmt::format("  {:9.3f}{:9.1f}", pair.drift[i] * 1e6, pair.residual[i] * 1e9);
        }
        text += "\n";
    }
    return text;
}

} // namespace

std::string drift_table(const DriftOptions &options, const std::vector<double> &started,
                        const std::vector<DriftPair> &pairs) {
    std::string text = fmt::format(
        "  samples   {} offsets per pair over {:.1f} s, every {} s, by {}, the best of {}\n"
        "\n"
        "  skew        slope of the least-squares line through the offsets of the answerer's\n"
        "              local clock from the asker's [ppm]\n"
        "  drift       largest |offset - first offset| [us]\n"
        "  residual    offset - least-squares line: largest absolute value, and RMS [ns]\n"
        "  predicted   last offset - prediction of the line through the first half [ns]\n"
        "  unpredicted last offset - last offset of the first half, without a line [ns]\n"
        "  ppm         largest absolute value / duration of the run;\n"
        "              for predicted: / time since the first half ended\n"
        "\n"
        "              skew       drift              residual                       predicted            unpredicted\n"
        "pair           ppm          us       ppm     max ns   rms ns       ppm          ns       ppm            ns\n",
        started.size(), started.back(), options.interval, options.estimator, options.rounds);
    for (const DriftPair &pair : pairs) {
        text += summary(pair);
    }
    text += "\n"
            "the line: skew, and intercept at time 0 of the asker's local clock; +-: half of the 95 % interval\n"
            "pair      skew [ppm]        +-    intercept [us]        +-           R^2\n";
    for (const DriftPair &pair : pairs) {
        text += line(pair);
    }
    text += "\nover time: drift [us] and residual [ns]";
    for (std::size_t i = 0; i < pairs.size(); i += abreast) {
        text += over_time(started, std::span(pairs).subspan(i, std::min(abreast, pairs.size() - i)));
    }
    return text;
}

} // namespace bench
