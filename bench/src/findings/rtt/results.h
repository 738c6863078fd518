#pragma once

#include "context/context.h"
#include "findings/rtt/stop_rule.h"
#include "output/datasets/dataset.h"
#include "statistics/histogram.h"
#include "statistics/statistics.h"
#include "text/pair.h"

#include <string>
#include <vector>

namespace bench {

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

std::string rtt_table(const RttOptions &options, std::uint64_t seed, const std::vector<RttPair> &pairs);
Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs);

} // namespace bench
