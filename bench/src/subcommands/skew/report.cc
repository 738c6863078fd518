#include "subcommands/skew/results.h"

#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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

namespace {

constexpr std::size_t most_ranks = 7; // side by side

/// All ranks where they fit, else some from the first to the last, evenly spread.
std::vector<std::size_t> shown_ranks(std::size_t ranks) {
    const std::size_t count = std::min(ranks, most_ranks);
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < count; ++i) {
        shown.push_back(count == 1 ? 0 : i * (ranks - 1) / (count - 1));
    }
    return shown;
}

std::string rows_of_skews(const std::vector<Skew> &skews) {
    ColumnTable table({{"", "synchronizer", ColumnKind::name},
                       {"exit skew", "median", ColumnKind::microseconds},
                       {"exit skew", "mean", ColumnKind::microseconds},
                       {"exit skew", "5%", ColumnKind::microseconds},
                       {"exit skew", "95%", ColumnKind::microseconds},
                       {"exit skew", "99%", ColumnKind::microseconds},
                       {"exit skew", "max", ColumnKind::microseconds},
                       {"", "bound", ColumnKind::microseconds},
                       {"", "rej.%", ColumnKind::percent}});
    for (const Skew &skew : skews) {
        table.add({skew.cell.cell.synchronizer, skew.skew.median, skew.skew.mean, skew.skew.p5, skew.skew.p95,
                   skew.skew.p99, skew.skew.max, skew.cell.error_bound, rejected_share(skew.cell)});
    }
    return table.text();
}

std::string rows_of_exits(const std::vector<Skew> &skews, const std::vector<std::size_t> &ranks) {
    std::vector<Column> columns = {{"", "synchronizer", ColumnKind::name}};
    for (const std::size_t rank : ranks) {
        columns.push_back({"rank", fmt::format("{}", rank), ColumnKind::microseconds});
    }
    columns.push_back({"", "+-", ColumnKind::microseconds});
    ColumnTable table(columns);
    for (const Skew &skew : skews) {
        double widest = 0.0; // of all ranks; NaN if one has none
        for (const MeanInterval &exit : skew.exits) {
            widest = std::isnan(exit.half) ? exit.half : std::max(widest, exit.half);
        }
        std::vector<ColumnEntry> row = {skew.cell.cell.synchronizer};
        for (const std::size_t rank : ranks) {
            row.emplace_back(skew.exits[rank].mean);
        }
        row.emplace_back(widest);
        table.add(std::move(row));
    }
    return table.text();
}

} // namespace

std::string skew_table(const Context &context, const std::vector<Skew> &skews, const ClockAgreement &agreement) {
    const std::size_t all = skews.front().exits.size();
    const std::vector<std::size_t> ranks = shown_ranks(all);
    return line_above("clock", fmt::format("{}, synchronized by {}", clock_setting(context, "clock"),
                                           clock_setting(context, "sync"))) +
           line_above("", fmt::format("at the end of the run {}", describe(agreement))) +
           line_above("samples",
                      fmt::format("{} valid ones after each synchronizer, in blocks in random order, seed {}",
                                  skews.front().cell.requested, context.seed)) +
           fmt::format("\n{}\n"
                       "  exit skew  time between the first and the last rank's exit from the\n"
                       "             synchronizer [us]\n"
                       "  bound      of the clock's error: either end of a skew may be off by this much\n"
                       "             [us]\n"
                       "  rej.%      attempts whose synchronization failed; each was repeated\n"
                       "\n"
                       "when each rank leaves: mean after the first that left [us]; +-: 95 % interval,\n"
                       "the widest of all ranks\n"
                       "{}{}",
                       rows_of_skews(skews),
                       ranks.size() < all ? fmt::format("{} of {} ranks; files hold all\n", ranks.size(), all) : "",
                       rows_of_exits(skews, ranks));
}

} // namespace bench
