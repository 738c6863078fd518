#include "output/table/columns.h"
#include "output/table/sections.h"
#include "subcommands/rtt/results.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace bench {
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
