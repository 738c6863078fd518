#include "subcommands/rtt/results.h"

#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>

namespace bench {

Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs) {
    const std::vector<std::string> sample = {"pair", "sample"};
    const auto series = [&](std::vector<double> RoundTrips::*member) {
        return collect(pairs, [member](const RttPair &pair) { return pair.trips.*member; });
    };
    const auto rules = [&](double StopRule::*member) {
        return collect(pairs, [member](const RttPair &pair) { return collect(pair.stop_rule, member); });
    };
    const auto of_histogram = [](auto get) {
        return [get](const RttPair &pair) { return std::invoke(get, pair.histogram); };
    };
    Dataset data;
    const auto per_pair = [&](const std::string &name, const std::string &meaning, const char *unit, auto get) {
        data.add(name, {"pair"}, meaning, unit, collect(pairs, get));
    };
    data.title = "Round trips between pairs of ranks, recorded by downbeat-bench rtt";
    data.attributes = {{"experiment", std::string("rtt")},
                       {"count", options.count},
                       {"interval_s", options.interval},
                       {"resamples", options.resamples}};
    data.dimensions = {{"pair", pairs.size()},
                       {"sample", static_cast<std::size_t>(options.count)},
                       {"bin", pairs.front().histogram.counts.size()},
                       {"n", stop_rule_ns().size()}};
    per_pair("pair", "the two ranks, asker first", "", [](const RttPair &pair) { return describe(pair.pair); });
    data.add("sample", {"sample"}, "round trips in the order in which they were made", "",
             count_up(static_cast<std::size_t>(options.count)));
    data.add("n", {"n"}, "N of the stop rule: stop after N consecutive round trips that were no shorter", "",
             collect(stop_rule_ns(), [](long n) { return n; }));
    per_pair("asker", "rank that asked; times are on its clock", "",
             [](const RttPair &pair) { return pair.pair.asker; });
    per_pair("answerer", "rank that answered", "", [](const RttPair &pair) { return pair.pair.answerer; });
    data.add("sent", sample, "time at which the request was sent, from the first one", "s", series(&RoundTrips::sent));
    data.add("rtt", sample, "round trip time", "s", series(&RoundTrips::rtt));
    data.add("clock_difference", sample,
             "the answerer's local clock when it answered - the asker's when it sent (t_diff, Hoefler 2008, section "
             "2.2)",
             "s", series(&RoundTrips::difference));
    data.add("histogram_left", {"pair", "bin"}, "left edge of the bin", "s", collect(pairs, of_histogram(bin_edges)));
    data.add("histogram_count", {"pair", "bin"}, "round trips in the bin", "",
             collect(pairs, of_histogram(&Histogram::counts)));
    per_pair("histogram_width", "width of a bin", "s", of_histogram(&Histogram::width));
    per_pair("histogram_overflow", "round trips beyond the last bin", "", of_histogram(&Histogram::overflow));
    per_pair("rtt_p999", "99.9th percentile of the round trip times", "s", &RttPair::p999);
    data.add("stop_rule_excess", {"pair", "n"},
             "mean over resamples of (shortest found - shortest of all) / shortest of all", "1",
             rules(&StopRule::quality));
    data.add("stop_rule_cost", {"pair", "n"}, "mean over resamples of the round trips until the rule stopped", "",
             rules(&StopRule::cost));
    if (!std::isnan(pairs.front().trips.true_before)) {
        per_pair("true_offset_before",
                 "lead of the answerer's local clock over the asker's before the first round trip, known from the "
                 "validation clock",
                 "s", [](const RttPair &pair) { return pair.trips.true_before; });
        per_pair("true_offset_after", "lead after the last round trip", "s",
                 [](const RttPair &pair) { return pair.trips.true_after; });
    }
    for (const Statistic &statistic : statistics()) {
        per_pair("rtt_" + statistic.name, statistic.name + " of the round trip times", statistic.has_unit ? "s" : "",
                 [&](const RttPair &pair) { return pair.summary.*statistic.value; });
    }
    add_ranks(data, context);
    return data;
}

namespace {

constexpr std::size_t picture_columns = 67; // of three of the 200 bins
constexpr std::size_t picture_rows = 8;

std::string draw_pair(const RttPair &pair) {
    const Histogram &histogram = pair.histogram;
    const std::string picture = draw(histogram, picture_columns, picture_rows);
    const std::string left = fmt::format("{:.3f}", histogram.low * 1e6);
    const std::string right = fmt::format("{:.3f} us", histogram.high * 1e6);
    const auto beyond = static_cast<double>(histogram.overflow) / static_cast<double>(pair.trips.rtt.size());
    return fmt::format("\n"
                       "pair {}: histogram of round-trip times; {} bins of {:.2f} ns;\n"
                       "{} ({:.1f} %) beyond them\n"
                       "{}   {}{:>{}}\n",
                       describe(pair.pair), histogram.counts.size(), histogram.width() * 1e9, histogram.overflow,
                       beyond * 100, picture, left, right, picture_columns - left.size());
}

std::string summaries(const std::vector<RttPair> &pairs) {
    std::vector<Column> columns = {{"", "pair", ColumnKind::name}};
    for (const char *statistic : {"min", "median", "mean", "p95", "p99", "p99.9", "max"}) {
        columns.push_back({"round trip", statistic, ColumnKind::microseconds});
    }
    ColumnTable table(columns);
    for (const RttPair &pair : pairs) {
        table.add({describe(pair.pair), pair.summary.min, pair.summary.median, pair.summary.mean, pair.summary.p95,
                   pair.summary.p99, pair.p999, pair.summary.max});
    }
    return table.text();
}

std::string stop_rule_table(std::span<const RttPair> pairs) {
    std::vector<Column> columns = {{"", "N", ColumnKind::text}};
    for (const RttPair &pair : pairs) {
        const std::string name = "pair " + describe(pair.pair);
        columns.push_back({name, "excess%", ColumnKind::percent});
        columns.push_back({name, "cost", ColumnKind::text});
    }
    ColumnTable table(columns);
    for (std::size_t i = 0; i < stop_rule_ns().size(); ++i) {
        std::vector<ColumnEntry> row = {fmt::format("{}", stop_rule_ns()[i])};
        for (const RttPair &pair : pairs) {
            row.emplace_back(pair.stop_rule[i].quality);
            row.emplace_back(fmt::format("{:.1f}", pair.stop_rule[i].cost));
        }
        table.add(std::move(row));
    }
    return "\nstop rule\n" + table.text();
}

} // namespace

std::string rtt_table(const RttOptions &options, std::uint64_t seed, const std::vector<RttPair> &pairs) {
    std::string text =
        line_above("samples", fmt::format("{} round trips per pair, {}; seed {}", options.count,
                                          options.interval > 0.0 ? fmt::format("one every {} s", options.interval)
                                                                 : std::string("back to back"),
                                          seed));
    text += fmt::format("\n"
                        "  round trip  from sending the request to receiving the answer, on the asker's\n"
                        "              clock [us]\n"
                        "  stop rule   stop after N consecutive round trips no shorter than the shortest\n"
                        "              so far (Hoefler 2008, section 3.1); means over {} resamples\n"
                        "              of the recording\n"
                        "  excess%     (shortest found - shortest of all) / shortest of all\n"
                        "  cost        round trips until the rule stopped, including the first\n"
                        "\n",
                        options.resamples);
    text += summaries(pairs);
    for (const RttPair &pair : pairs) {
        text += draw_pair(pair);
    }
    constexpr std::size_t abreast = 4; // pairs fit side by side
    for (std::size_t i = 0; i < pairs.size(); i += abreast) {
        text += stop_rule_table(std::span(pairs).subspan(i, std::min(abreast, pairs.size() - i)));
    }
    return text;
}

} // namespace bench
