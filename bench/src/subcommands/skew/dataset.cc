#include "subcommands/skew/results.h"

#include <algorithm>
#include <cmath>

namespace bench {

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
    const auto per_rank = [&](double MeanInterval::*member) {
        return collect(
            skews, [member](const Skew &skew) { return collect(skew.exits, member); }, ranks);
    };
    const auto of_attempts = [&](std::vector<double> SkewRecording::*member, std::size_t length) {
        return collect(
            skews, [member](const Skew &skew) { return skew.recording.*member; }, length);
    };
    const auto of_cell = [&](auto member) {
        return collect(skews, [member](const Skew &skew) { return std::invoke(member, skew.cell); });
    };
    const auto of_histogram = [&](auto member) {
        return collect(skews, [member](const Skew &skew) { return std::invoke(member, skew.histogram); });
    };
    const auto is_valid = [](Verdict verdict) { return verdict == Verdict::valid; };
    const auto valid = [&](const Skew &skew) { return collect(skew.recording.verdict, is_valid); };
    const auto edges = [&](const Skew &skew) {
        return skew.cell.valid == 0 ? std::vector<double>(bins, std::nan("")) : bin_edges(skew.histogram);
    };
    const std::vector<std::string> matrix = {"synchronizer", "attempt", "rank"};
    data.add("synchronizer", {"synchronizer"}, "name, with parameters that differ from their defaults", "",
             collect(skews, [](const Skew &skew) { return skew.cell.cell.synchronizer; }));
    data.add("attempt", {"attempt"}, "attempts in the order they were made", "", count_up(attempts));
    data.add("valid", {"synchronizer", "attempt"},
             "1 if it counts, 0 if it was rejected, -1 if there was no such attempt", "",
             collect(skews, valid, attempts, -1));
    data.add("block", {"synchronizer", "attempt"},
             "position of the attempt's block in the launch, -1 if there was no such attempt", "",
             collect(
                 skews, [](const Skew &skew) { return skew.recording.block; }, attempts, -1));
    data.add("deadline", {"synchronizer", "attempt"},
             "instant that all ranks waited for, global clock; NaN if the synchronizer has none", "s",
             of_attempts(&SkewRecording::deadline, attempts));
    data.add("entry", matrix, "entry into the synchronizer, global clock", "s",
             of_attempts(&SkewRecording::entry, attempts * ranks));
    data.add("exit", matrix, "exit from the synchronizer, global clock", "s",
             of_attempts(&SkewRecording::exit, attempts * ranks));
    data.add("valid_count", {"synchronizer"}, "valid attempts", "", of_cell(&CellResult::valid));
    data.add("rejected", {"synchronizer"}, "rejected attempts", "", of_cell(&CellResult::rejected));
    data.add("error_bound", {"synchronizer"}, "largest error bound of the global clock over ranks", "s",
             of_cell(&CellResult::error_bound));
    data.add("expected_error", {"synchronizer"},
             "largest expected error of the global clock over ranks, one standard deviation", "s",
             of_cell(&CellResult::expected_error));
    data.add("exit_mean", {"synchronizer", "rank"}, "mean time from the first rank's exit to this rank's", "s",
             per_rank(&MeanInterval::mean));
    data.add("exit_half", {"synchronizer", "rank"}, "half the width of the 95 % confidence interval of exit_mean", "s",
             per_rank(&MeanInterval::half));
    data.add("exit_effective", {"synchronizer", "rank"}, "effective number of independent exits", "",
             per_rank(&MeanInterval::effective));
    data.add("histogram_left", {"synchronizer", "bin"}, "left edge of the bin of skews", "s", collect(skews, edges));
    data.add("histogram_count", {"synchronizer", "bin"}, "valid attempts in the bin", "",
             of_histogram(&Histogram::counts));
    data.add("histogram_width", {"synchronizer"}, "width of a bin", "s", of_histogram(&Histogram::width));
    data.add("histogram_overflow", {"synchronizer"}, "valid attempts beyond the last bin", "",
             of_histogram(&Histogram::overflow));
    for (const Statistic &statistic : statistics()) {
        data.add("skew_" + statistic.name, {"synchronizer"},
                 statistic.name + " of the exit skew: last exit - first exit, over the valid attempts",
                 statistic.has_unit ? "s" : "",
                 collect(skews, [&](const Skew &skew) { return skew.skew.*statistic.value; }));
    }
    add_ranks(data, context);
    if (!skews.front().recording.true_exit.empty()) {
        data.add("true_exit", matrix, "exit from the synchronizer, true time of the simulation", "s",
                 of_attempts(&SkewRecording::true_exit, attempts * ranks));
    }
    return data;
}

} // namespace bench
