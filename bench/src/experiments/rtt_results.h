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

/// The quality of the rule "measure until N consecutive round trips were no shorter than the shortest so far" (Hoefler
/// 2008, section 3.1 and figure 6), by drawing from recorded round trips with replacement.
struct StopRule {
    long n;
    double quality; // mean of (minimum found - smallest of all) / smallest of all
    double cost;    // mean number of draws; the first counts, so that it is n + 1 at least
};

/// One entry per N. Round trips are positive and not empty. The same seed gives the same result on all machines.
std::vector<StopRule> study_stop_rule(std::span<const double> rtts, std::span<const long> ns, long resamples,
                                      std::uint64_t seed);

/// 1, 2, 5, 10, ... 1000
std::span<const long> stop_rule_ns();

/// The recording of one pair, in order. Seconds on the asker's local clock.
struct RoundTrips {
    std::vector<double> sent;       // since the first one was sent
    std::vector<double> rtt;        // from sending the question to receiving the answer
    std::vector<double> difference; // the answerer's local clock when it answered - the asker's when it sent
    double true_before;             // by how much the answerer's local clock was ahead before the first one, and after
    double true_after;              // the last one, as only the validation clock knows; NaN without
};

/// The round trips of one pair, and the results from them.
struct RttPair {
    Pair pair;
    RoundTrips trips;
    Summary summary;
    double p999; // seconds
    Histogram histogram;
    std::vector<StopRule> stop_rule;
};

RttPair study_rtts(const Pair &pair, RoundTrips trips, long resamples, std::uint64_t seed);

struct RttOptions {
    std::vector<Pair> pairs;
    long count = 50000;    // round trips per pair, as Hoefler 2008, section 2.2
    double interval = 0.0; // seconds between round trips; 0: back to back
    long resamples = 1000;
};

Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs);

} // namespace bench
