#include "subcommands/clock/results.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

// A wait that differs by more than this share from the requested one answers another question.
constexpr double small_share = 0.1;
constexpr double small_wait = 0.05; // seconds

void warn_of_shared_clock(const ClockResults &results, std::vector<std::string> &warnings) {
    if (results.clock_domains == 1) {
        warnings.push_back("all ranks share one clock, as the library verified: offsets are 0 by construction and say "
                           "nothing about the schemes; set DOWNBEAT_SHARE=never, or give every rank a clock with a "
                           "known error, e.g. DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6");
    }
}

void warn_of_bounds(const ClockResults &results, const ClockSummary &summary, std::vector<std::string> &warnings) {
    for (const SchemeSummary &scheme : summary.schemes) {
        for (std::size_t i = 0; i < scheme.waits.size(); ++i) {
            if (scheme.waits[i].outside > 0.0) {
                warnings.push_back(fmt::format(
                    "{:.1f} % of the true errors of {} after {} s exceed the bound that the library reports: clocks "
                    "drift faster than it allows for, or its bound is wrong; keep 2 (skew + wander) of "
                    "DOWNBEAT_VALIDATION below DOWNBEAT_MAX_SKEW; if that is so already, please report a bug",
                    scheme.waits[i].outside * 100, scheme.scheme, results.options.waits[i]));
            }
        }
    }
}

void warn_of_waits(const ClockResults &results, const ClockSummary &summary, std::vector<std::string> &warnings) {
    for (std::size_t i = 0; i < results.options.waits.size(); ++i) {
        const double asked = results.options.waits[i];
        double worst = 0.0;
        for (const SchemeSummary &scheme : summary.schemes) {
            worst = std::max(worst, scheme.waits[i].wait_last - asked);
        }
        if (worst > std::max(small_wait, small_share * asked)) {
            warnings.push_back(fmt::format("measurements planned {} s after a synchronization began up to {:.3f} s "
                                           "late because another scheme was being synchronized or measured: clocks had "
                                           "drifted further than the column says; request fewer schemes per run",
                                           asked, worst));
        }
    }
}

} // namespace

std::vector<std::string> find_clock_warnings(const ClockResults &results, const ClockSummary &summary) {
    std::vector<std::string> warnings;
    warn_of_shared_clock(results, warnings);
    warn_of_bounds(results, summary, warnings);
    warn_of_waits(results, summary, warnings);
    return warnings;
}

} // namespace bench
