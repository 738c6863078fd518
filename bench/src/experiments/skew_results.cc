// Computes exit skews, and describes them as a dataset (skew_results.h).
#include "experiments/skew_results.h"

#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <span>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t bins = 100;
constexpr double histogram_quantile = 0.99; // the bins end at this quantile
constexpr double min_bin_width = 1e-9;      // s; smaller than the step of any clock

// Error bound of the clock from which there is a warning, relative to the median skew. The error adds to a skew in
// full.
constexpr double max_error_share = 0.1;

} // namespace

Skew study_skew(SkewRecording recording, const CellResult &cell, std::size_t ranks) {
    std::vector<double> skews;
    std::map<std::size_t, long> valid; // number of valid attempts by block
    std::vector<std::vector<double>> after_first(ranks);
    for (std::size_t i = 0; i < recording.verdict.size(); ++i) {
        if (recording.verdict[i] != Verdict::valid) {
            continue;
        }
        const auto exits = std::span(recording.exit).subspan(i * ranks, ranks);
        const auto [first, last] = std::minmax_element(exits.begin(), exits.end());
        skews.push_back(*last - *first);
        ++valid[recording.block[i]];
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            after_first[rank].push_back(exits[rank] - *first);
        }
    }
    std::vector<long> blocks;
    for (const auto &[block, size] : valid) {
        blocks.push_back(size);
    }
    // The histogram is empty until there are skews.
    Skew result{
        std::move(recording), cell, summarize(skews, blocks), {0.0, 0.0, std::vector<std::size_t>(bins, 0), 0}, {}};
    if (!skews.empty()) {
        std::ranges::sort(skews);
        result.histogram = make_histogram(skews, bins, histogram_quantile, min_bin_width);
    }
    for (const std::vector<double> &values : after_first) {
        result.exits.push_back(mean_interval(values, blocks, 0.95));
    }
    return result;
}

std::vector<std::string> find_skew_warnings(const std::vector<Skew> &skews, const ClockAgreement &agreement) {
    std::vector<std::string> warnings;
    std::vector<std::string> uncertain;
    for (const Skew &skew : skews) {
        if (skew.cell.error_bound >
            max_error_share * skew.skew.median) { // false if the median is NaN: no valid attempt
            uncertain.push_back(fmt::format("{} ({:.3f} us)", skew.cell.cell.synchronizer, skew.skew.median * 1e6));
        }
    }
    if (!uncertain.empty()) {
        const auto bound_of = [](const Skew &skew) { return skew.cell.error_bound; };
        const double bound = std::ranges::max(mapped(skews, bound_of));
        warnings.push_back(fmt::format("the clock's error bound, up to {:.3f} us, is more than 10 % of the median skew "
                                       "of {}: a skew may be off by that much at either end; set DOWNBEAT_SYNC to a "
                                       "scheme with a narrower bound (downbeat-bench clock compares them)",
                                       bound * 1e6,
                                       uncertain.size() == skews.size() ? "any synchronizer" : join(uncertain)));
    }
    warn_of_agreement(agreement, warnings);
    return warnings;
}

namespace {

using Fields = std::vector<FieldOf<Skew>>;
constexpr auto us = ColumnKind::microseconds;

/// A member of the synchronizer's cell.
auto of_cell(auto member) {
    return [member](const Skew &skew) { return std::invoke(member, skew.cell); };
}

/// A member of the histogram of skews.
auto in_histogram(auto member) {
    return [member](const Skew &skew) { return std::invoke(member, skew.histogram); };
}

/// The values of a member of the recording.
auto recorded(std::vector<double> SkewRecording::*member) {
    return [member](const Skew &skew) { return skew.recording.*member; };
}

/// A member of the mean exit of each rank.
auto exits(double MeanInterval::*member) {
    return [member](const Skew &skew) { return mapped(skew.exits, member); };
}

/// 1 for each valid attempt, 0 for each other attempt.
std::vector<std::int64_t> valid(const Skew &skew) {
    return mapped(skew.recording.verdict, [](Verdict verdict) { return std::int64_t{verdict == Verdict::valid}; });
}

const FieldOf<Skew> name_field = {"synchronizer", "", "name, with parameters that differ from their defaults",
                                  [](const Skew &skew) { return skew.cell.cell.synchronizer; },
                                  Column{"", "synchronizer", ColumnKind::name}};

/// A field for each statistic of the exit skew.
Fields skew_statistics() {
    constexpr const char *legend = "time between the first and the last rank's exit from the synchronizer";
    const std::map<std::string, std::string> headings = {{"median", "median"}, {"mean", "mean"}, {"p5", "5%"},
                                                         {"p95", "95%"},       {"p99", "99%"},   {"max", "max"}};
    Fields fields;
    for (const Statistic &statistic : statistics()) {
        const auto heading = headings.find(statistic.name);
        fields.push_back({"skew_" + statistic.name, statistic.has_unit ? "s" : "",
                          statistic.name + " of the exit skew: last exit - first exit, over the valid attempts",
                          [value = statistic.value](const Skew &skew) { return skew.skew.*value; },
                          heading == headings.end() ? Column{} : Column{"exit skew", heading->second, us, legend}});
    }
    return fields;
}

/// Fields with a value per synchronizer.
const Fields &synchronizer_fields() {
    static const Fields declared = [] {
        Fields fields = skew_statistics();
        const Fields of_cells = {
            {"error_bound", "s", "largest error bound of the global clock over ranks",
             of_cell(&CellResult::error_bound),
             Column{"", "bound", us, "of the clock's error: either end of a skew may be off by this much"}},
            {"rejected_share", "1", "attempts whose synchronization failed; each was repeated",
             of_cell(&CellResult::rejected_share), Column{"", "rej.%", ColumnKind::percent}},
            {"valid_count", "", "valid attempts", of_cell(&CellResult::valid)},
            {"rejected", "", "rejected attempts", of_cell(&CellResult::rejected)},
            {"expected_error", "s", "largest expected error of the global clock over ranks, one standard deviation",
             of_cell(&CellResult::expected_error)},
            {"histogram_width", "s", "width of a bin", in_histogram(&Histogram::width)},
            {"histogram_overflow", "", "valid attempts beyond the last bin", in_histogram(&Histogram::overflow)}};
        fields.insert(fields.end(), of_cells.begin(), of_cells.end());
        return fields;
    }();
    return declared;
}

} // namespace

Dataset skew_dataset(const Context &context, const SkewOptions &options, const std::vector<Skew> &skews) {
    const Fields of_attempts = {
        {"valid", "", "1 if it counts, 0 if it was rejected, -1 if there was no such attempt", valid},
        {"block", "", "position of the attempt's block in the launch, -1 if there was no such attempt",
         [](const Skew &skew) { return skew.recording.block; }},
        {"deadline", "s", "instant that all ranks waited for, global clock; NaN if the synchronizer has none",
         recorded(&SkewRecording::deadline)}};
    Fields of_exits = {{"entry", "s", "entry into the synchronizer, global clock", recorded(&SkewRecording::entry)},
                       {"exit", "s", "exit from the synchronizer, global clock", recorded(&SkewRecording::exit)}};
    if (!skews.front().recording.true_exit.empty()) {
        of_exits.push_back({"true_exit", "s", "exit from the synchronizer, true time of the simulation",
                            recorded(&SkewRecording::true_exit)});
    }
    const Fields of_ranks = {
        {"exit_mean", "s", "mean time from the first rank's exit to this rank's", exits(&MeanInterval::mean),
         Column{"exit", "mean", us}},
        {"exit_half", "s", "half the width of the 95 % confidence interval of exit_mean", exits(&MeanInterval::half),
         Column{"exit", "+-", us}},
        {"exit_effective", "", "effective number of independent exits", exits(&MeanInterval::effective)}};
    const Fields of_bins = {{"histogram_left", "s", "left edge of the bin of skews",
                             [](const Skew &skew) {
                                 return skew.cell.valid == 0 ? std::vector<double>(bins, std::nan(""))
                                                             : skew.histogram.edges();
                             }},
                            {"histogram_count", "", "valid attempts in the bin", in_histogram(&Histogram::counts)}};
    const std::size_t attempts =
        std::ranges::max(mapped(skews, [](const Skew &skew) { return skew.recording.verdict.size(); }));
    Dataset data;
    data.title = "How processes leave synchronizers, measured by downbeat-bench skew";
    data.attributes = {{"experiment", std::string("skew")},
                       {"repetitions", options.repetitions},
                       {"max_attempts", options.max_attempts},
                       {"warmup", options.warmup}};
    data.dimensions = {
        {"synchronizer", skews.size()}, {"attempt", attempts}, {"rank", context.ranks.size()}, {"bin", bins}};
    data.add<Skew>({name_field}, {"synchronizer"}, skews);
    data.add({"attempt", "", "attempts in the order they were made", FieldType::count}, {"attempt"},
             count_up(attempts));
    data.add(synchronizer_fields(), {"synchronizer"}, skews);
    data.add(of_attempts, {"synchronizer"}, skews, {"attempt"});
    data.add(of_exits, {"synchronizer"}, skews, {"attempt", "rank"});
    data.add(of_ranks, {"synchronizer"}, skews, {"rank"});
    data.add(of_bins, {"synchronizer"}, skews, {"bin"});
    add_ranks(data, context);
    return data;
}

} // namespace bench
