#include "subcommands/rtt/results.h"

#include <cmath>

namespace bench {

Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs) {
    const std::vector<std::string> sample = {"pair", "sample"};
    const auto series = [&](std::vector<double> RoundTrips::*member) {
        return collect(pairs, [member](const RttPair &pair) { return pair.trips.*member; });
    };
    const auto rules = [&](double StopRule::*member) {
        return collect(pairs, [member](const RttPair &pair) { return collect(pair.stop_rule, member); });
    };
    const auto of_histogram = [&](auto get) {
        return collect(pairs, [get](const RttPair &pair) { return std::invoke(get, pair.histogram); });
    };
    Dataset data;
    data.title = "Round trips between pairs of ranks, recorded by downbeat-bench rtt";
    data.attributes = {{"experiment", std::string("rtt")},
                       {"count", options.count},
                       {"interval_s", options.interval},
                       {"resamples", options.resamples}};
    data.dimensions = {{"pair", pairs.size()},
                       {"sample", static_cast<std::size_t>(options.count)},
                       {"bin", pairs.front().histogram.counts.size()},
                       {"n", stop_rule_ns().size()}};
    data.add("pair", {"pair"}, "the two ranks, asker first", "",
             collect(pairs, [](const RttPair &pair) { return describe(pair.pair); }));
    data.add("sample", {"sample"}, "round trips in the order in which they were made", "",
             count_up(static_cast<std::size_t>(options.count)));
    data.add("n", {"n"}, "N of the stop rule: stop after N consecutive round trips that were no shorter", "",
             collect(stop_rule_ns(), [](long n) { return n; }));
    data.add("asker", {"pair"}, "rank that asked; times are on its clock", "",
             collect(pairs, [](const RttPair &pair) { return pair.pair.asker; }));
    data.add("answerer", {"pair"}, "rank that answered", "",
             collect(pairs, [](const RttPair &pair) { return pair.pair.answerer; }));
    data.add("sent", sample, "time at which the request was sent, from the first one", "s", series(&RoundTrips::sent));
    data.add("rtt", sample, "round trip time", "s", series(&RoundTrips::rtt));
    data.add("clock_difference", sample,
             "the answerer's local clock when it answered - the asker's when it sent (t_diff, Hoefler 2008, section "
             "2.2)",
             "s", series(&RoundTrips::difference));
    data.add("histogram_left", {"pair", "bin"}, "left edge of the bin", "s", of_histogram(bin_edges));
    data.add("histogram_count", {"pair", "bin"}, "round trips in the bin", "", of_histogram(&Histogram::counts));
    data.add("histogram_width", {"pair"}, "width of a bin", "s", of_histogram(&Histogram::width));
    data.add("histogram_overflow", {"pair"}, "round trips beyond the last bin", "", of_histogram(&Histogram::overflow));
    data.add("rtt_p999", {"pair"}, "99.9th percentile of the round trip times", "s", collect(pairs, &RttPair::p999));
    data.add("stop_rule_excess", {"pair", "n"},
             "mean over resamples of (shortest found - shortest of all) / shortest of all", "1",
             rules(&StopRule::quality));
    data.add("stop_rule_cost", {"pair", "n"}, "mean over resamples of the round trips until the rule stopped", "",
             rules(&StopRule::cost));
    if (!std::isnan(pairs.front().trips.true_before)) {
        data.add("true_offset_before", {"pair"},
                 "lead of the answerer's local clock over the asker's before the first round trip, known from the "
                 "validation clock",
                 "s", collect(pairs, [](const RttPair &pair) { return pair.trips.true_before; }));
        data.add("true_offset_after", {"pair"}, "lead after the last round trip", "s",
                 collect(pairs, [](const RttPair &pair) { return pair.trips.true_after; }));
    }
    for (const Statistic &statistic : statistics()) {
        data.add("rtt_" + statistic.name, {"pair"}, statistic.name + " of the round trip times",
                 statistic.has_unit ? "s" : "",
                 collect(pairs, [&](const RttPair &pair) { return pair.summary.*statistic.value; }));
    }
    add_ranks(data, context);
    return data;
}

} // namespace bench
