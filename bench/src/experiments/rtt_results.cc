// Studies the stop rule, and describes round trips as a dataset (rtt_results.h).
#include "experiments/rtt_results.h"

#include "text/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <span>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t bins = 200;           // Hoefler 2008, figure 4
constexpr double histogram_quantile = 0.99; // the bins end at this quantile
constexpr double min_bin_width = 1e-9;      // s; timestamps are in ns

/// A run of the stop rule.
struct Run {
    double minimum; // shortest round trip, s
    long draws;     // number of round trips
};

/// Draws round trips with replacement until the rule stops.
Run draw_until_stop(std::span<const double> rtts, long n, std::mt19937_64 &random) {
    const auto draw = [&] { return rtts[random() % rtts.size()]; };
    Run run{draw(), 1};
    for (long not_shorter = 0; not_shorter < n;) { // consecutive round trips
        const double rtt = draw();
        ++run.draws;
        not_shorter = rtt < run.minimum ? 0 : not_shorter + 1;
        run.minimum = std::min(run.minimum, rtt);
    }
    return run;
}

} // namespace

std::span<const long> stop_rule_ns() {
    static constexpr std::array<long, 10> ns = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    return ns;
}

std::vector<StopRule> study_stop_rule(std::span<const double> rtts, std::span<const long> ns, long resamples,
                                      std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const double smallest = *std::ranges::min_element(rtts);
    const auto runs = static_cast<double>(resamples);
    std::vector<StopRule> study;
    for (const long n : ns) {
        double excess = 0.0;
        long draws = 0;
        for (long i = 0; i < resamples; ++i) {
            const Run run = draw_until_stop(rtts, n, random);
            excess += (run.minimum - smallest) / smallest;
            draws += run.draws;
        }
        study.push_back({n, excess / runs, static_cast<double>(draws) / runs});
    }
    return study;
}

RttPair study_rtts(const Pair &pair, RoundTrips trips, long resamples, std::uint64_t seed) {
    std::vector<double> sorted = trips.rtt;
    std::ranges::sort(sorted);
    const Summary summary = summarize(trips.rtt, equal_parts(trips.rtt.size()));
    const double p999 = quantile_of_sorted(sorted, 0.999);
    const Histogram histogram = make_histogram(sorted, bins, histogram_quantile, min_bin_width);
    std::vector<StopRule> stop_rule = study_stop_rule(trips.rtt, stop_rule_ns(), resamples, seed);
    return {pair, std::move(trips), summary, p999, histogram, std::move(stop_rule)};
}

namespace {

using P = RttPair;
using Fields = std::vector<FieldOf<P>>;

/// A value of the histogram: `get` is a member of Histogram.
auto in_histogram(auto get) {
    return [get](const P &pair) { return std::invoke(get, pair.histogram); };
}

/// The values of a member of the round trips.
auto series(std::vector<double> RoundTrips::*member) {
    return [member](const P &pair) { return pair.trips.*member; };
}

/// The values of a member of the stop rule, for each N.
auto by_rule(double StopRule::*member) {
    return [member](const P &pair) { return mapped(pair.stop_rule, member); };
}

const FieldOf<P> name_field = {"pair", "", "the two ranks, asker first",
                               [](const P &pair) { return describe_pair(pair.pair); },
                               Column{"", "pair", ColumnKind::name}};

/// The column of a statistic of the round trips.
Column in_table(const std::string &heading) {
    return {"round trip", heading, ColumnKind::microseconds,
            "from sending the request to receiving the answer, on the asker's clock"};
}

/// The field of a statistic of the round trips.
FieldOf<P> statistic_field(const Statistic &statistic) {
    const std::vector<std::string> shown = {"min", "median", "mean", "p95", "p99", "max"};
    return {"rtt_" + statistic.name, statistic.has_unit ? "s" : "", statistic.name + " of the round trip times",
            [value = statistic.value](const P &pair) { return pair.summary.*value; },
            contains(shown, statistic.name) ? in_table(statistic.name) : Column{}};
}

} // namespace

Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs) {
    static const Fields of_samples = {
        {"sent", "s", "time at which the request was sent, from the first one", series(&RoundTrips::sent)},
        {"rtt", "s", "round trip time", series(&RoundTrips::rtt)},
        {"clock_difference", "s",
         "the answerer's local clock when it answered - the asker's when it sent (t_diff, Hoefler 2008, "
         "section 2.2)",
         series(&RoundTrips::difference)}};
    static const Fields of_bins = {{"histogram_left", "s", "left edge of the bin", in_histogram(&Histogram::edges)},
                                   {"histogram_count", "", "round trips in the bin", in_histogram(&Histogram::counts)}};
    static const Fields of_rules = {
        {"stop_rule_excess", "1", "mean over resamples of (shortest found - shortest of all) / shortest of all",
         by_rule(&StopRule::excess), Column{"stop rule", "excess%", ColumnKind::percent}},
        {"stop_rule_cost", "", "mean over resamples of the round trips until the rule stopped",
         by_rule(&StopRule::cost), Column{"stop rule", "cost", ColumnKind::ratio}}};
    Fields of_pairs = {
        {"asker", "", "rank that asked; times are on its clock", [](const P &pair) { return pair.pair.asker; }},
        {"answerer", "", "rank that answered", [](const P &pair) { return pair.pair.answerer; }},
        {"histogram_width", "s", "width of a bin", in_histogram(&Histogram::width)},
        {"histogram_overflow", "", "round trips beyond the last bin", in_histogram(&Histogram::overflow)}};
    if (!std::isnan(pairs.front().trips.true_before)) {
        of_pairs.push_back({"true_offset_before", "s",
                            "lead of the answerer's local clock over the asker's before the first round trip, "
                            "known from the validation clock",
                            [](const P &pair) { return pair.trips.true_before; }});
        of_pairs.push_back({"true_offset_after", "s", "lead after the last round trip",
                            [](const P &pair) { return pair.trips.true_after; }});
    }
    for (const Statistic &statistic : statistics()) {
        of_pairs.push_back(statistic_field(statistic));
    }
    of_pairs.push_back({"rtt_p999", "s", "99.9th percentile of the round trip times", &P::p999, in_table("p99.9")});
    const auto count = static_cast<std::size_t>(options.count);
    Dataset data;
    data.title = "Round trips between pairs of ranks, recorded by downbeat-bench rtt";
    data.attributes = {{"experiment", std::string("rtt")},
                       {"count", options.count},
                       {"interval_s", options.interval},
                       {"resamples", options.resamples}};
    data.dimensions = {{"pair", pairs.size()},
                       {"sample", count},
                       {"bin", pairs.front().histogram.counts.size()},
                       {"n", stop_rule_ns().size()}};
    data.add<P>({name_field}, {"pair"}, pairs);
    data.add({"sample", "", "round trips in the order in which they were made", FieldType::count}, {"sample"},
             count_up(count));
    data.add(
        {"n", "", "N of the stop rule: stop after N consecutive round trips that were no shorter", FieldType::count},
        {"n"}, std::vector<std::int64_t>(stop_rule_ns().begin(), stop_rule_ns().end()));
    data.add(of_pairs, {"pair"}, pairs);
    data.add(of_samples, {"pair"}, pairs, {"sample"});
    data.add(of_bins, {"pair"}, pairs, {"bin"});
    data.add(of_rules, {"pair"}, pairs, {"n"});
    add_ranks(data, context);
    return data;
}

} // namespace bench
