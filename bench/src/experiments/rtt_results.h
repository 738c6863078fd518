// Results of `downbeat-bench rtt`: round trips between pairs of ranks, their distribution, and a study of the rule that
// decides when a measurement of the shortest round trip may stop.
#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/histogram.h"
#include "rules/statistics.h"
#include "text/parse.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// The outcome of the rule "stop after N consecutive round trips that were no shorter than the shortest so far"
/// (Hoefler 2008, section 3.1 and figure 6), from runs of the rule on round trips that are drawn with replacement.
struct StopRule {
    long n;
    double excess; // mean over runs of (shortest of the run - shortest of all) / shortest of all; 0 is perfect
    double cost;   // mean number of round trips of a run; at least n + 1
};

/// Studies the rule for each N of `ns`. `rtts` are positive, and there is at least one. `resamples`: runs per N. Equal
/// seeds give equal results on all machines.
std::vector<StopRule> study_stop_rule(std::span<const double> rtts, std::span<const long> ns, long resamples,
                                      std::uint64_t seed);

/// The studied values of N: 1, 2, 5, 10, ... 1000.
std::span<const long> stop_rule_ns();

/// The round trips of a pair in order, s.
struct RoundTrips {
    std::vector<double> sent;       // time of sending, on the asker's local clock, since the first was sent
    std::vector<double> rtt;        // from sending the request to receiving the answer, on the asker's local clock
    std::vector<double> difference; // answerer's local clock when it answered - asker's local clock when it sent
    double true_before;             // true lead of the answerer's clock before the first; NaN without validation clock
    double true_after;              // true lead of the answerer's clock after the last; NaN without validation clock
};

/// The round trips of a pair and their statistics.
struct RttPair {
    Pair pair;
    RoundTrips trips;
    Summary summary;                 // of RoundTrips::rtt
    double p999;                     // 99.9th percentile of RoundTrips::rtt, s
    Histogram histogram;             // of RoundTrips::rtt
    std::vector<StopRule> stop_rule; // one per N of stop_rule_ns()
};

/// Computes the statistics of a pair's round trips. `resamples`: see RttOptions.
RttPair study_rtts(const Pair &pair, RoundTrips trips, long resamples, std::uint64_t seed);

/// The options of the subcommand.
struct RttOptions {
    std::vector<Pair> pairs;
    long count = 50000;    // round trips per pair (Hoefler 2008, section 2.2)
    double interval = 0.0; // between the begins of round trips, s; 0: back to back
    long resamples = 1000; // runs of the stop rule per N
};

Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs);

} // namespace bench
