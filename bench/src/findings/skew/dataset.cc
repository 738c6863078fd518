#include "findings/skew/results.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace bench {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// One value per synchronizer.
template <typename Value, typename Get> std::vector<Value> collect(const std::vector<Skew> &skews, Get get) {
    std::vector<Value> values;
    for (const Skew &skew : skews) {
        values.push_back(static_cast<Value>(get(skew)));
    }
    return values;
}

/// One row of values per synchronizer, filled up to the same length.
template <typename Value, typename Get>
std::vector<Value> collect_rows(const std::vector<Skew> &skews, std::size_t length, Value filler, Get get) {
    std::vector<Value> values;
    for (const Skew &skew : skews) {
        for (const auto &value : get(skew)) {
            values.push_back(static_cast<Value>(value));
        }
        values.resize((values.size() + length - 1) / length * length, filler);
    }
    return values;
}

} // namespace

Dataset skew_dataset(const Context &context, const SkewOptions &options, const std::vector<Skew> &skews) {
    Dataset data;
    data.title = "How processes leave synchronizers, measured by downbeat-bench skew";
    data.attributes = {{"experiment", std::string("skew")},
                       {"repetitions", options.repetitions},
                       {"max_attempts", options.max_attempts},
                       {"warmup", options.warmup}};
    const std::size_t ranks = skews.front().exits.size();
    const std::size_t bins = skews.front().histogram.counts.size();
    std::size_t attempts = 0;
    for (const Skew &skew : skews) {
        attempts = std::max(attempts, skew.recording.verdict.size());
    }
    data.dimensions = {{"synchronizer", skews.size()}, {"attempt", attempts}, {"bin", bins}};
    std::vector<std::int64_t> numbers(attempts);
    std::iota(numbers.begin(), numbers.end(), 0);

    const auto per_rank = [&](double MeanInterval::*member) {
        return collect_rows(skews, ranks, no_value, [&](const Skew &skew) {
            std::vector<double> values;
            for (const MeanInterval &exit : skew.exits) {
                values.push_back(exit.*member);
            }
            return values;
        });
    };
    const auto valid = [](const Skew &skew) {
        std::vector<std::int64_t> values;
        for (const Verdict verdict : skew.recording.verdict) {
            values.push_back(verdict == Verdict::valid ? 1 : 0);
        }
        return values;
    };
    const auto edges = [](const Skew &skew) {
        std::vector<double> left;
        for (std::size_t bin = 0; bin < skew.histogram.counts.size(); ++bin) {
            left.push_back(skew.cell.valid == 0
                               ? no_value
                               : skew.histogram.low + static_cast<double>(bin) * skew.histogram.width());
        }
        return left;
    };
    const auto blocks = [](const Skew &skew) {
        return std::vector<std::int64_t>(skew.recording.block.begin(), skew.recording.block.end());
    };
    const std::vector<std::string> matrix = {"synchronizer", "attempt", "rank"};
    data.variables = {
        {"synchronizer",
         {"synchronizer"},
         "name, with parameters that differ from their defaults",
         "",
         collect<std::string>(skews, [](const Skew &skew) { return skew.cell.cell.synchronizer; })},
        {"attempt", {"attempt"}, "attempts in the order they were made", "", numbers},
        {"valid",
         {"synchronizer", "attempt"},
         "1 if it counts, 0 if it was rejected, -1 if there was no such attempt",
         "",
         collect_rows(skews, attempts, std::int64_t{-1}, valid)},
        {"block",
         {"synchronizer", "attempt"},
         "position of the attempt's block in the launch, -1 if there was no such attempt",
         "",
         collect_rows(skews, attempts, std::int64_t{-1}, blocks)},
        {"deadline",
         {"synchronizer", "attempt"},
         "instant that all ranks waited for, global clock; NaN if the synchronizer has none",
         "s",
         collect_rows(skews, attempts, no_value, [](const Skew &skew) { return skew.recording.deadline; })},
        {"entry", matrix, "entry into the synchronizer, global clock", "s",
         collect_rows(skews, attempts * ranks, no_value, [](const Skew &skew) { return skew.recording.entry; })},
        {"exit", matrix, "exit from the synchronizer, global clock", "s",
         collect_rows(skews, attempts * ranks, no_value, [](const Skew &skew) { return skew.recording.exit; })},
        {"valid_count",
         {"synchronizer"},
         "valid attempts",
         "",
         collect<std::int64_t>(skews, [](const Skew &skew) { return skew.cell.valid; })},
        {"rejected",
         {"synchronizer"},
         "rejected attempts",
         "",
         collect<std::int64_t>(skews, [](const Skew &skew) { return skew.cell.rejected(); })},
        {"error_bound",
         {"synchronizer"},
         "largest error bound of the global clock over ranks",
         "s",
         collect<double>(skews, [](const Skew &skew) { return skew.cell.error_bound; })},
        {"expected_error",
         {"synchronizer"},
         "largest expected error of the global clock over ranks, one standard deviation",
         "s",
         collect<double>(skews, [](const Skew &skew) { return skew.cell.expected_error; })},
        {"exit_mean",
         {"synchronizer", "rank"},
         "mean time from the first rank's exit to this rank's",
         "s",
         per_rank(&MeanInterval::mean)},
        {"exit_half",
         {"synchronizer", "rank"},
         "half the width of the 95 % confidence interval of exit_mean",
         "s",
         per_rank(&MeanInterval::half)},
        {"exit_effective",
         {"synchronizer", "rank"},
         "effective number of independent exits",
         "",
         per_rank(&MeanInterval::effective)},
        {"histogram_left",
         {"synchronizer", "bin"},
         "left edge of the bin of skews",
         "s",
         collect_rows(skews, bins, no_value, edges)},
        {"histogram_count",
         {"synchronizer", "bin"},
         "valid attempts in the bin",
         "",
         collect_rows(skews, bins, std::int64_t{0}, [](const Skew &skew) { return skew.histogram.counts; })},
        {"histogram_width",
         {"synchronizer"},
         "width of a bin",
         "s",
         collect<double>(skews, [](const Skew &skew) { return skew.histogram.width(); })},
        {"histogram_overflow",
         {"synchronizer"},
         "valid attempts beyond the last bin",
         "",
         collect<std::int64_t>(skews, [](const Skew &skew) { return skew.histogram.overflow; })},
    };
    for (const Statistic &statistic : statistics()) {
        data.variables.push_back(
            {"skew_" + statistic.name,
             {"synchronizer"},
             statistic.name + " of the exit skew: last exit - first exit, over the valid attempts",
             statistic.has_unit ? "s" : "",
             collect<double>(skews, [&](const Skew &skew) { return skew.skew.*statistic.value; })});
    }
    add_ranks(data, context);
    if (!skews.front().recording.true_exit.empty()) {
        data.variables.push_back({"true_exit", matrix, "exit from the synchronizer, true time of the simulation", "s",
                                  collect_rows(skews, attempts * ranks, no_value,
                                               [](const Skew &skew) { return skew.recording.true_exit; })});
    }
    return data;
}

} // namespace bench
