#include "warnings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

// Processors. What an idle system's own services use, and the granularity of the kernel's account (10 ms) over a run of
// some seconds, stay below.
constexpr double much_activity = 0.1;

// An error of the clock goes into makespan and exit skew one to one; a tenth of what is measured is no longer small.
constexpr double small_share = 0.1;

bool is_oversubscribed(const HostInfo &host) { return host.ranks > host.processors; }

void warn_of_hosts(const Context &context, std::vector<std::string> &warnings) {
    for (const HostInfo &host : context.hosts) {
        if (is_oversubscribed(host)) {
            warnings.push_back(fmt::format("{} ranks share {} processors on {}: a rank that waits for its turn on a "
                                           "processor looks like a slow operation; run at most one rank per processor",
                                           host.ranks, host.processors, host.name));
        }
        if (host.governor != "performance" && host.governor != "unknown") {
            warnings.push_back(fmt::format("the cpufreq governor of {} is {}: the clock rate of the processors varies "
                                           "with the load, and latencies with it; set the governor to performance",
                                           host.name, host.governor));
        }
    }
}

void warn_of_others(const std::vector<OthersActivity> &others, std::vector<std::string> &warnings) {
    for (const OthersActivity &activity : others) {
        if (activity.processors > much_activity) {
            warnings.push_back(fmt::format("other processes kept {:.1f} processors of {} busy during the run: they "
                                           "interrupt the ranks, samples become slow or rejected; measure when the "
                                           "machine is idle",
                                           activity.processors, activity.host));
        }
    }
}

void warn_of_ranks(const Context &context, std::vector<std::string> &warnings) {
    if (context.ranks.size() == 1) {
        warnings.push_back("there is one rank only: no message was sent; start the program with a launcher of the MPI "
                           "library that it was built with, as mpirun -n 2");
    }
    // Ranks that share processors are better off unbound, and have been warned of already.
    if (std::any_of(context.hosts.begin(), context.hosts.end(), is_oversubscribed)) {
        return;
    }
    const auto unbound = std::count_if(context.ranks.begin(), context.ranks.end(),
                                       [](const RankPlace &place) { return place.cores > 1; });
    if (unbound > 0) {
        warnings.push_back(fmt::format("{} of {} ranks may run on more than one core: the kernel may move them during "
                                       "a sample; let the launcher bind ranks to cores",
                                       unbound, context.ranks.size()));
    }
}

void warn_of_clock(const std::vector<CellResult> &results, std::vector<std::string> &warnings) {
    const CellResult *worst = nullptr;
    double worst_share = small_share;
    for (const CellResult &result : results) {
        const double share = result.error_bound / result.metric("makespan").median; // NaN in a failed cell
        if (share > worst_share) {
            worst = &result;
            worst_share = share;
        }
    }
    if (worst != nullptr) {
        warnings.push_back(
            fmt::format("the clock's error bound, {:.3f} us, is {:.0f} % of the makespan of {}: either end of it "
                        "and of exit skews is uncertain by that much; lower DOWNBEAT_MAX_AGE, or trust the latencies, "
                        "which need no common clock",
                        worst->error_bound * 1e6, worst_share * 100, describe(worst->cell)));
    }
}

} // namespace

void warn_of_agreement(const ClockAgreement &agreement, std::vector<std::string> &warnings) {
    if (agreement.outside > 0) {
        warnings.push_back(
            fmt::format("the clocks no longer agree: at the end rank {} was measured {:.3f} us off rank 0, but the "
                        "reported bounds allow {:.3f} us ({} of {} ranks are outside): clocks drift faster than the "
                        "library allows for, and makespan and exit skew are wrong by that much; raise "
                        "DOWNBEAT_MAX_SKEW, lower DOWNBEAT_MAX_AGE",
                        agreement.worst, std::abs(agreement.offset) * 1e6, agreement.allowed * 1e6, agreement.outside,
                        agreement.ranks));
    }
}

std::vector<std::string> find_machine_warnings(const Context &context, const std::vector<OthersActivity> &others) {
    std::vector<std::string> warnings;
    warn_of_hosts(context, warnings);
    warn_of_others(others, warnings);
    warn_of_ranks(context, warnings);
    return warnings;
}

std::vector<std::string> find_warnings(const Context &context, const std::vector<CellResult> &results,
                                       const std::vector<OthersActivity> &others, const ClockAgreement &agreement) {
    std::vector<std::string> warnings = find_machine_warnings(context, others);
    warn_of_clock(results, warnings);
    warn_of_agreement(agreement, warnings);
    return warnings;
}

} // namespace bench
