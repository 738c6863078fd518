#include "findings/rtt/results.h"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr std::size_t picture_columns = 100;
constexpr std::size_t picture_rows = 8;

std::string draw_pair(const RttPair &pair) {
    const Histogram &histogram = pair.histogram;
    const std::string picture = draw(histogram, picture_columns, picture_rows);
    const std::string left = fmt::format("{:.3f}", histogram.low * 1e6);
    const std::string right = fmt::format("{:.3f} us", histogram.high * 1e6);
    const auto beyond = static_cast<double>(histogram.overflow) / static_cast<double>(pair.trips.rtt.size());
    return fmt::format("\n"
                       "pair {}: histogram of round-trip times; {} bins of {:.2f} ns; {} ({:.1f} %) beyond them\n"
                       "{}   {}{:>{}}\n",
                       describe(pair.pair), histogram.counts.size(), histogram.width() * 1e9, histogram.overflow,
                       beyond * 100, picture, left, right, picture_columns - left.size());
}

std::string stop_rule_table(const std::vector<RttPair> &pairs) {
    std::string text = "\nstop rule";
    std::string header = "        N";
    for (const RttPair &pair : pairs) {
        text += fmt::format("  {:>18}", "pair " + describe(pair.pair));
        header += fmt::format("  {:>9}{:>9}", "excess", "cost");
    }
    text += "\n" + header + "\n";
    for (std::size_t i = 0; i < stop_rule_ns().size(); ++i) {
        text += fmt::format("{:9}", stop_rule_ns()[i]);
        for (const RttPair &pair : pairs) {
            const StopRule &rule = pair.stop_rule[i];
            text += fmt::format("  {:7.1f} %{:9.1f}", rule.quality * 100, rule.cost);
        }
        text += "\n";
    }
    return text;
}

} // namespace

std::string rtt_table(const RttOptions &options, std::uint64_t seed, const std::vector<RttPair> &pairs) {
    std::string text = fmt::format(
        "  samples   {} round trips per pair, {}; seed {}\n"
        "\n"
        "  round trip  from sending the request to receiving the answer, on the asker's clock [us]\n"
        "  stop rule   stop after N consecutive round trips no shorter than the shortest so far\n"
        "              (Hoefler 2008, section 3.1); means over {} resamples of the recording\n"
        "  excess      (shortest found - shortest of all) / shortest of all\n"
        "  cost        round trips until the rule stopped, including the first\n"
        "\n"
        "pair             min    median      mean       p95       p99     p99.9       max\n",
        options.count,
        options.interval > 0.0 ? fmt::format("one every {} s", options.interval) : std::string("back to back"), seed,
        options.resamples);
    for (const RttPair &pair : pairs) {
        text += fmt::format("{:<10}", describe(pair.pair));
        for (const double value : {pair.summary.min, pair.summary.median, pair.summary.mean, pair.summary.p95,
                                   pair.summary.p99, pair.p999, pair.summary.max}) {
            text += fmt::format(" {:9.3f}", value * 1e6);
        }
        text += "\n";
    }
    for (const RttPair &pair : pairs) {
        text += draw_pair(pair);
    }
    // So many pairs fit side by side.
    constexpr std::size_t abreast = 5;
    for (std::size_t i = 0; i < pairs.size(); i += abreast) {
        const auto first = pairs.begin() + static_cast<std::ptrdiff_t>(i);
        const std::size_t count = std::min(abreast, pairs.size() - i);
        text += stop_rule_table({first, first + static_cast<std::ptrdiff_t>(count)});
    }
    return text;
}

} // namespace bench
