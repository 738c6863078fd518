#include "output/context.h"

#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace bench {

ContextValues context_values(const Context &context) {
    ContextValues values = {
        {"downbeat_version", context.version},
        {"git_revision", context.revision},
        {"compiler", context.compiler},
        {"date", context.date},
        {"command_line", context.command_line},
        {"mpi_library", context.mpi_library},
        {"mpi_standard", context.mpi_standard},
        {"error_bound_s", context.error_bound},
        {"expected_error_s", context.expected_error},
        {"clock_resolution", context.clock_resolution},
        {"seed", context.seed},
    };
    if (!context.simulated.empty()) {
        values.emplace_back("simulated", context.simulated);
    }
    return values;
}

ContextValues context_values(const SamplingContext &context) {
    ContextValues values = context_values(static_cast<const Context &>(context));
    const ContextValues sampling = {{"stopping_rule", context.stopping},
                                    {"warmup_rule", context.warmup},
                                    {"max_attempts", context.max_attempts},
                                    {"observed_rank", static_cast<long>(context.observed)},
                                    {"patterns_permuted", static_cast<long>(context.permuted)},
                                    {"tolerance_s", context.tolerance},
                                    {"stamp_cost", context.stamp_cost},
                                    {"algorithms", describe_algorithms(context)}};
    if (!context.user_operations.empty()) {
        values.emplace_back("user_operations", join(context.user_operations, "\n"));
    }
    values.insert(values.end(), sampling.begin(), sampling.end());
    if (std::isinf(context.starts.late)) {
        values.emplace_back("late_by", std::string(late_flags));
    } else if (!context.starts.flags_count) {
        values.emplace_back("late_s", context.starts.late);
    }
    if (context.starts.late_ranks > 0.0) {
        values.emplace_back("late_ranks", context.starts.late_ranks);
    }
    return values;
}

std::optional<double> busy_processors(double seconds, double period, double processors) {
    constexpr double shortest = 0.1; // seconds
    if (std::isnan(seconds) || period < shortest) {
        return std::nullopt;
    }
    return std::clamp(seconds / period, 0.0, processors);
}

std::string describe_environment(const Context &context) {
    std::vector<std::string> variables;
    for (const auto &[name, value] : context.environment) {
        variables.push_back(fmt::format("{}={}", name, value));
    }
    return join(variables, "\n");
}

std::string describe_algorithms(const SamplingContext &context) {
    std::vector<std::string> lines;
    for (const auto &[name, evidence] : context.algorithms) {
        lines.push_back(fmt::format("{}: {}", name, evidence));
    }
    return join(lines, "\n");
}

std::string describe_hosts(const Context &context) {
    std::vector<std::string> hosts;
    for (const HostInfo &host : context.hosts) {
        hosts.push_back(fmt::format("{}: {} ranks, {} processors, load {:.2f}, governor {}, CPU {}, virtual machine {}",
                                    host.name, host.ranks, host.processors, host.load, host.governor, host.cpu_model,
                                    host.virtual_machine));
    }
    return join(hosts, "\n");
}

std::string clock_setting(const Context &context, const std::string &name) {
    const auto found = std::ranges::find_if(context.clock, [&](const auto &one) { return one.first == name; });
    return found == context.clock.end() ? "unknown" : found->second;
}

std::string short_mpi_library(const std::string &version) {
    std::string text;
    for (const char c : version.substr(0, version.find_first_of(",\n"))) {
        const bool space = c == ' ' || c == '\t';
        if (!space) {
            text += c;
        } else if (!text.empty() && text.back() != ' ') {
            text += ' ';
        }
    }
    return text;
}

const OffsetRound &RankOffset::surest() const { return *std::ranges::min_element(rounds, {}, &OffsetRound::bound); }

ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets) {
    ClockAgreement agreement{static_cast<int>(offsets.size()), 0, 0, 0.0, 0.0};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        agreement.contradictions += offsets[i].contradictions;
        const bool unknown = offsets[i].sync_error > offsets[i].flag_error && offsets[i].flag_error > 0.0;
        if (unknown && offsets[i].unsure > agreement.unsure) {
            constexpr double margin = 1.5; // errors vary from one synchronization to the next
            agreement.unsure = offsets[i].unsure;
            agreement.asked = offsets[i].flag_error;
            agreement.known_to = offsets[i].sync_error;
            agreement.needed = margin * offsets[i].tolerance * agreement.known_to / agreement.asked;
        }
        const OffsetRound &round = offsets[i].surest();
        const double allowed = offsets[i].error_bound + round.bound;
        const double offset = std::abs(round.offset);
        const bool outside = offset > allowed;
        agreement.outside += outside ? 1 : 0;
        const bool first_outside = outside && agreement.outside == 1;
        const bool comparable = outside || agreement.outside == 0;
        if (agreement.worst == 0 || first_outside || (comparable && offset > std::abs(agreement.offset))) {
            agreement.worst = static_cast<int>(i) + 1;
            agreement.offset = round.offset;
            agreement.allowed = allowed;
        }
    }
    return agreement;
}

std::string describe_agreement(const ClockAgreement &agreement) {
    if (agreement.ranks == 0) {
        return "nothing to compare it with: only one rank";
    }
    return fmt::format("at most {:.3f} us off rank 0 (rank {}), {} the bounds ({:.3f} us)",
                       std::abs(agreement.offset) * 1e6, agreement.worst, agreement.outside > 0 ? "outside" : "within",
                       agreement.allowed * 1e6);
}

namespace {

// Processors. The services of an idle system, and the granularity of the kernel's accounting (10 ms) over a run of some
// seconds, stay below.
constexpr double much_activity = 0.1;

// An error of the clock adds to makespan and exit skew in full; a tenth of the measured value is no longer small.
constexpr double small_share = 0.1;

// A change of the median that does not matter, as warm-up rule stationary has it.
constexpr double small_slope = 0.02;

bool is_oversubscribed(const HostInfo &host) { return host.ranks > host.processors; }

void warn_of_hosts(const Context &context, std::vector<std::string> &warnings) {
    for (const HostInfo &host : context.hosts) {
        if (is_oversubscribed(host)) {
            warnings.push_back(
                fmt::format("{} ranks share {} processor{} on {}: a rank that waits for a processor looks like a slow "
                            "operation; start at most {} there{}",
                            host.ranks, host.processors, host.processors == 1 ? "" : "s", host.name, host.processors,
                            context.hosts.size() == 1 ? fmt::format(", e.g. mpirun -n {}", host.processors) : ""));
        }
        if (host.governor != "performance" && host.governor != "unknown") {
            warnings.push_back(fmt::format("the cpufreq governor of {} is {}: processor frequency varies with load, "
                                           "and latency with it; set the governor to performance",
                                           host.name, host.governor));
        }
    }
}

void warn_of_others(const std::vector<OthersActivity> &others, std::vector<std::string> &warnings) {
    for (const OthersActivity &activity : others) {
        if (activity.processors > much_activity) {
            warnings.push_back(
                fmt::format("other processes kept {:.1f} processors of {} busy during the run: they interrupt ranks, "
                            "so samples are slow or rejected; measure on an idle machine",
                            activity.processors, activity.host));
        }
    }
}

void warn_of_ranks(const Context &context, std::vector<std::string> &warnings) {
    // Ranks that share processors are better off unbound, and there is a warning already.
    if (std::ranges::any_of(context.hosts, is_oversubscribed)) {
        return;
    }
    const auto unbound = std::ranges::count_if(context.ranks, [](const RankPlace &place) { return place.cores > 1; });
    if (unbound > 0) {
        warnings.push_back(fmt::format("{} of {} ranks are not bound to one core: the kernel may move them during a "
                                       "sample; bind ranks to cores, e.g. mpirun --bind-to core",
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
        warnings.push_back(fmt::format(
            "the clock's error bound, {:.3f} us, is {:.0f} % of the makespan of {}: makespan and exit skew may be off "
            "by that much at either end; lower DOWNBEAT_MAX_AGE, or use latencies, which need no common clock",
            worst->error_bound * 1e6, worst_share * 100, describe_cell(worst->cell)));
    }
}

void warn_of_states(const Context &context, const std::vector<CellResult> &results,
                    std::vector<std::string> &warnings) {
    std::vector<double> readings;
    for (const CellResult &result : results) {
        if (!std::isnan(result.canary_low)) {
            readings.insert(readings.end(), {result.canary_low, result.canary_high});
        }
    }
    std::ranges::sort(readings);
    // States are parted by gaps, as python/downbeat/data/states.py has it: on a busy machine readings spread without
    // one.
    const auto gap =
        std::ranges::adjacent_find(readings, [](double below, double above) { return above > same_state * below; });
    if (gap == readings.end()) {
        return;
    }
    const double low = *gap;
    const double high = *(gap + 1);
    const auto mixed = std::ranges::count_if(
        results, [&](const CellResult &result) { return result.canary_low <= low && result.canary_high >= high; });
    const bool within_host = std::ranges::any_of(context.hosts, [](const HostInfo &host) { return host.ranks > 1; });
    warnings.push_back(fmt::format(
        "measured in two states of the machine ({} {:.0f} and {:.0f} ns): {} of {} cells have samples of both, and "
        "cells of different states cannot be compared; the cause is outside, e.g. a host that moves virtual "
        "processors: "
        "measure again, several launches, and compare within a state",
        within_host ? "cache line" : "shortest message", low * 1e9, high * 1e9, mixed, results.size()));
}

bool drifts(const CellResult &result) { // NaN does not
    return std::abs(result.slope) > std::max(result.slope_by_chance, small_slope);
}

void warn_of_slopes(const std::vector<CellResult> &results, std::vector<std::string> &warnings) {
    const auto drifting = std::ranges::count_if(results, drifts);
    if (drifting == 0) {
        return;
    }
    const auto worst = std::ranges::max_element(results, [](const CellResult &a, const CellResult &b) {
        return (drifts(a) ? std::abs(a.slope) : 0.0) < (drifts(b) ? std::abs(b.slope) : 0.0);
    });
    warnings.push_back(fmt::format(
        "latencies change within blocks in {} of {} cells, by {:+.0f} % from the first to the last half in {}: they "
        "had "
        "not settled when samples began, and the median depends on the length of a block; discard more calls, e.g. "
        "--warmup 'stationary(max=1000)'",
        drifting, results.size(), worst->slope * 100, describe_cell(worst->cell)));
}

void warn_of_warmup(const std::vector<CellResult> &results, std::vector<std::string> &warnings) {
    const auto unsettled =
        std::ranges::count_if(results, [](const CellResult &result) { return result.unsettled > 0; });
    if (unsettled == 0) {
        return;
    }
    const auto worst = std::ranges::max_element(results, {}, &CellResult::unsettled);
    warnings.push_back(
        fmt::format("the warm-up of {} of {} cells reached its limit before latencies settled, in {} of {} blocks of "
                    "{}: its samples may still speed up or slow down; raise max in --warmup 'stationary(max=...)', or "
                    "raise change if so small a trend does not matter",
                    unsettled, results.size(), worst->unsettled, worst->blocks, describe_cell(worst->cell)));
}

} // namespace

void warn_of_agreement(const ClockAgreement &agreement, std::vector<std::string> &warnings) {
    if (agreement.outside > 0) {
        warnings.push_back(fmt::format(
            "the clocks no longer agree: at the end rank {} was {:.3f} us off rank 0, but the reported bounds allow "
            "{:.3f} us ({} of {} ranks are outside): clocks drift faster than the library assumes, so makespan and "
            "exit skew are wrong by that much; raise DOWNBEAT_MAX_SKEW or lower DOWNBEAT_MAX_AGE",
            agreement.worst, std::abs(agreement.offset) * 1e6, agreement.allowed * 1e6, agreement.outside,
            agreement.ranks));
    }
    if (agreement.contradictions > 0) {
        warnings.push_back(fmt::format(
            "clocks did {} time{} what DOWNBEAT_MAX_SKEW and DOWNBEAT_MAX_WANDER exclude (a line above says by how "
            "much): "
            "starts were rejected until they were known again; raise the settings, or choose another DOWNBEAT_CLOCK",
            agreement.contradictions, agreement.contradictions == 1 ? "" : "s"));
    }
    constexpr double many = 0.1; // below, repeated samples are all that it costs
    if (agreement.unsure >= many) {
        warnings.push_back(fmt::format(
            "the paths between these clocks vary so much that they are known to {:.2g} us, where flags ask for {:.2g} "
            "us: {:.0f} % of the starts failed for that; use --tolerance {:.1g} or more, or DOWNBEAT_TOLERANCE=auto",
            agreement.known_to * 1e6, agreement.asked * 1e6, agreement.unsure * 100.0, agreement.needed));
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
    warn_of_states(context, results, warnings);
    warn_of_warmup(results, warnings);
    warn_of_slopes(results, warnings);
    warn_of_agreement(agreement, warnings);
    return warnings;
}

} // namespace bench
