#pragma once

#include <cstdint>
#include <span>
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

} // namespace bench
