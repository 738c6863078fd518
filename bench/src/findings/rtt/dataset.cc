#include "findings/rtt/results.h"

#include <cmath>
#include <numeric>

namespace bench {
namespace {

/// The values of all pairs, pair by pair.
template <typename Get> std::vector<double> collect(const std::vector<RttPair> &pairs, Get get) {
    std::vector<double> values;
    for (const RttPair &pair : pairs) {
        const auto &component = get(pair);
        values.insert(values.end(), component.begin(), component.end());
    }
    return values;
}

} // namespace

Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs) {
    Dataset data;
    data.title = "Round trips between pairs of ranks, recorded by downbeat-bench rtt";
    data.attributes = {{"experiment", std::string("rtt")},
                       {"count", options.count},
                       {"interval_s", options.interval},
                       {"resamples", options.resamples}};
    const std::size_t bins = pairs.front().histogram.counts.size();
    data.dimensions = {{"pair", pairs.size()},
                       {"sample", static_cast<std::size_t>(options.count)},
                       {"bin", bins},
                       {"n", stop_rule_ns().size()}};
    std::vector<std::string> names;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> overflow;
    std::vector<std::int64_t> askers;
    std::vector<std::int64_t> answerers;
    for (const RttPair &pair : pairs) {
        names.push_back(describe(pair.pair));
        askers.push_back(pair.pair.asker);
        answerers.push_back(pair.pair.answerer);
        counts.insert(counts.end(), pair.histogram.counts.begin(), pair.histogram.counts.end());
        overflow.push_back(static_cast<std::int64_t>(pair.histogram.overflow));
    }
    std::vector<std::int64_t> samples(static_cast<std::size_t>(options.count));
    std::iota(samples.begin(), samples.end(), 0);
    const std::vector<std::int64_t> ns(stop_rule_ns().begin(), stop_rule_ns().end());

    const auto edges = [&](const RttPair &pair) {
        std::vector<double> left;
        for (std::size_t bin = 0; bin < bins; ++bin) {
            left.push_back(pair.histogram.low + static_cast<double>(bin) * pair.histogram.width());
        }
        return left;
    };
    const auto series = [&](std::vector<double> RoundTrips::*member) {
        return collect(pairs, [member](const RttPair &pair) { return pair.trips.*member; });
    };
    const auto rules = [&](double StopRule::*member) {
        return collect(pairs, [member](const RttPair &pair) {
            std::vector<double> values;
            for (const StopRule &rule : pair.stop_rule) {
                values.push_back(rule.*member);
            }
            return values;
        });
    };
    const auto single = [&](auto get) {
        return collect(pairs, [&](const RttPair &pair) { return std::vector<double>{get(pair)}; });
    };
    data.variables = {
        {"pair", {"pair"}, "the two ranks, asker first", "", names},
        {"sample", {"sample"}, "round trips in the order in which they were made", "", samples},
        {"n", {"n"}, "N of the stop rule: stop after N consecutive round trips that were no shorter", "", ns},
        {"asker", {"pair"}, "rank that asked; times are on its clock", "", askers},
        {"answerer", {"pair"}, "rank that answered", "", answerers},
        {"sent",
         {"pair", "sample"},
         "time at which the request was sent, from the first one",
         "s",
         series(&RoundTrips::sent)},
        {"rtt", {"pair", "sample"}, "round trip time", "s", series(&RoundTrips::rtt)},
        {"clock_difference",
         {"pair", "sample"},
         "the answerer's local clock when it answered - the asker's when it sent (t_diff, Hoefler 2008, section 2.2)",
         "s",
         series(&RoundTrips::difference)},
        {"histogram_left", {"pair", "bin"}, "left edge of the bin", "s", collect(pairs, edges)},
        {"histogram_count", {"pair", "bin"}, "round trips in the bin", "", counts},
        {"histogram_width", {"pair"}, "width of a bin", "s", single([](const RttPair &pair) {
             return pair.histogram.width();
         })},
        {"histogram_overflow", {"pair"}, "round trips beyond the last bin", "", overflow},
        {"rtt_p999", {"pair"}, "99.9th percentile of the round trip times", "s", single([](const RttPair &pair) {
             return pair.p999;
         })},
        {"stop_rule_excess",
         {"pair", "n"},
         "mean over resamples of (shortest found - shortest of all) / shortest of all",
         "1",
         rules(&StopRule::quality)},
        {"stop_rule_cost",
         {"pair", "n"},
         "mean over resamples of the round trips until the rule stopped",
         "",
         rules(&StopRule::cost)},
    };
    if (!std::isnan(pairs.front().trips.true_before)) {
        data.variables.push_back({"true_offset_before",
                                  {"pair"},
                                  "lead of the answerer's local clock over the asker's before the first round trip, "
                                  "known from the validation clock",
                                  "s",
                                  single([](const RttPair &pair) { return pair.trips.true_before; })});
        data.variables.push_back(
            {"true_offset_after", {"pair"}, "lead after the last round trip", "s", single([](const RttPair &pair) {
                 return pair.trips.true_after;
             })});
    }
    for (const Statistic &statistic : statistics()) {
        data.variables.push_back({"rtt_" + statistic.name,
                                  {"pair"},
                                  statistic.name + " of the round trip times",
                                  statistic.has_unit ? "s" : "",
                                  single([&](const RttPair &pair) { return pair.summary.*statistic.value; })});
    }
    add_ranks(data, context);
    return data;
}

} // namespace bench
