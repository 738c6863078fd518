#pragma once

#include "context.h"
#include "dataset.h"
#include "histogram.h"
#include "pair.h"
#include "rtt/stop_rule.h"
#include "statistics.h"

#include <string>
#include <vector>

namespace bench {

/// The round trips of one pair, and what follows from them.
struct RttPair {
    Pair pair;
    std::vector<double> sent; // seconds since the first one was sent
    std::vector<double> rtt;  // seconds
    Summary summary;
    double p999; // seconds
    Histogram histogram;
    std::vector<StopRule> stop_rule;
};

/// `sent` and `rtt` as recorded.
RttPair study_rtts(const Pair &pair, std::vector<double> sent, std::vector<double> rtt, long resamples,
                   std::uint64_t seed);

struct RttOptions {
    std::vector<Pair> pairs;
    long count = 50000;    // round trips per pair, as Hoefler 2008, section 2.2
    double interval = 0.0; // seconds between round trips; 0: back to back
    long resamples = 1000;
};

std::string rtt_table(const RttOptions &options, std::uint64_t seed, const std::vector<RttPair> &pairs);
Dataset rtt_dataset(const Context &context, const RttOptions &options, const std::vector<RttPair> &pairs);

} // namespace bench
