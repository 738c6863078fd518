// Attributes of files, the judgment of the final clock check, and warnings (context.h).
#include "output/context.h"

#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace bench {

Attribute::Attribute(Origin origin, std::string of_name, std::string of_unit, std::string of_meaning, std::string label,
                     std::string among, std::string factors, bool always)
    : Field{std::move(of_name), std::move(of_unit), std::move(of_meaning)} {
    if (label.empty()) {
        label = name.substr(0, name.size() - (unit.empty() || !name.ends_with("_" + unit) ? 0 : unit.size() + 1));
        std::ranges::replace(label, '_', ' ');
    }
    constexpr const char *origins[] = {"setting", "property", "measured"};
    attributes = {{"label", std::move(label)},
                  {"among", std::move(among)},
                  {"factors", std::move(factors)},
                  {"origin", origins[static_cast<std::size_t>(origin)]},
                  {"absent", always ? "not recorded" : "none"}};
}

namespace {

using enum Origin;

/// The value if the condition holds; else empty, so that the attribute is not written.
template <typename Type> std::optional<Type> value_if(bool condition, const Type &value) {
    return condition ? std::optional(value) : std::nullopt;
}

/// Attributes of all files. The last three texts are label, plural and factors (struct Attribute).
const std::vector<AttributeOf<Context>> &machine_attributes() {
    using C = Context;
    static const std::vector<AttributeOf<C>> declared = {
        {property, "downbeat_version", "", "version of downbeat-bench", &C::version, "downbeat-bench",
         "versions of downbeat-bench", "variant"},
        {property, "git_revision", "", "revision of its source", &C::revision, "its revision",
         "revisions of downbeat-bench", "variant"},
        {property, "compiler", "", "compiler that built it", &C::compiler, "its compiler",
         "compilers of downbeat-bench", "variant"},
        {measured, "date", "", "start of the measurement, UTC, ISO 8601", &C::date},
        {measured, "command_line", "", "command line of downbeat-bench", &C::command_line},
        {property, "mpi_library", "", "text of MPI_Get_library_version", &C::mpi_library, "MPI library", "",
         "library,variant"},
        {property, "mpi_standard", "", "MPI standard that the library follows", &C::mpi_standard, "MPI standard", "",
         "library,variant"},
        {measured, "error_bound_s", "s", "error bound of the global clock before the measurement, largest over ranks",
         &C::error_bound},
        {measured, "expected_error_s", "s", "the same for one standard deviation of the expected error",
         &C::expected_error},
        {measured, "clock_resolution", "s", "step in which stamps advance, largest over ranks; 0 in a simulation",
         &C::clock_resolution},
        {measured, "seed", "", "seed of the order of blocks, random patterns and permutations; text in netCDF",
         &C::seed},
        {property, model_attribute, "", "simulated platform; not on a machine",
         [](const C &c) { return value_if(!c.platform_model.empty(), c.platform_model); }, "simulated platform"},
    };
    return declared;
}

/// Attributes of files with samples of operations.
const std::vector<AttributeOf<SamplingContext>> &sampling_attributes() {
    using S = SamplingContext;
    static const std::vector<AttributeOf<S>> declared = {
        {setting, "user_operations", "", "operations of shared objects, and their files, one per line",
         [](const S &s) { return value_if(!s.user_operations.empty(), join(s.user_operations, "\n")); },
         "files of operations", "", "variant"},
        {setting, "stopping_rule", "", "rule that ends the measurement of a cell", &S::stopping, "stopping rule",
         "stopping rules"},
        {setting, "warmup_rule", "", "rule for the calls to discard before each block", &S::warmup, "warm-up rule",
         "warm-up rules"},
        {setting, "tolerance_s", "s", "a rank that starts later than this is late", &S::tolerance, "tolerance",
         "tolerances"},
        {measured, "stamp_cost", "s", "time between two stamps without a call, largest over ranks; 0 in a simulation",
         &S::stamp_cost},
        {measured, "algorithms", "", "evidence of each algorithm that was chosen, one per line",
         describe_algorithms}, // the choice is a factor
        {setting, "late_by", "", "flags: the flag of a rank decides whether it is late; else its entry does",
         [](const S &s) { return value_if<std::string>(std::isinf(s.starts.late), late_flags); },
         "what says that a start is late", "rules of lateness"},
        {setting, "late_s", "s", "limit of lateness in place of the tolerance",
         [](const S &s) { return value_if(!std::isinf(s.starts.late) && !s.starts.flags_count, s.starts.late); },
         "lateness that counts", "limits of lateness"},
        {setting, "late_ranks", "", "share of the ranks of a sample that may start late",
         [](const S &s) { return value_if(s.starts.late_ranks > 0.0, s.starts.late_ranks); },
         "share of ranks that may be late", "shares of ranks that may be late"},
    };
    return declared;
}

/// Attributes that sinks write themselves: netCDF as texts, JSON as objects and lists.
std::vector<Attribute> text_attributes() {
    return {
        {measured, "title", "", "contents of the file"},
        {measured, "schema", "", "downbeat-bench"},
        {measured, "schema_version", "", "version of names and meanings in the file"},
        {setting, "clock_clock", "", "libdownbeat's setting clock; its others likewise, clock_<setting>", "local clock",
         "local clocks"},
        {setting, "clock_sync", "", "libdownbeat's setting sync", "clock synchronization",
         "schemes of clock synchronization"},
        {setting, "environment", "", "settings of rank 0 for MPI, networks and libdownbeat, one per line",
         "environment", "", "library,environment,variant"},
        {property, "hosts", "",
         "hosts with ranks, processors, load, governor, CPU model, whether a virtual machine; one per line", "hosts",
         "", "ranks"},
        {measured, "warnings", "", "warnings of a run that is complete, one per line"},
    };
}

} // namespace

const std::vector<AttributeOf<ClockAgreement>> &agreement_attributes() {
    using A = ClockAgreement;
    static const std::vector<AttributeOf<A>> declared = {
        {measured, "clock_check", "", "whether the clocks still agreed at the end", describe_agreement},
        {measured, "clock_check_offset_s", "s", "offset to rank 0 of the rank farthest off", &A::offset},
        {measured, "clock_check_allowed_s", "s", "offset of that rank that bounds allow", &A::allowed},
        {measured, "clock_check_ranks_outside", "", "ranks that are farther off than bounds allow", &A::outside},
        {measured, "clock_check_contradictions", "", "times that a clock did what the settings exclude",
         &A::contradictions},
    };
    return declared;
}

std::vector<Attribute> context_attributes() {
    std::vector<Attribute> declared;
    const auto add = [&](const auto &rows) { declared.insert(declared.end(), rows.begin(), rows.end()); };
    add(machine_attributes());
    add(sampling_attributes());
    add(agreement_attributes());
    add(text_attributes());
    return declared;
}

ContextValues context_values(const Context &context) { return values_of(machine_attributes(), context); }

ContextValues sampling_values(const SamplingContext &context) { return values_of(sampling_attributes(), context); }

ContextValues context_values(const SamplingContext &context) {
    ContextValues values = context_values(static_cast<const Context &>(context));
    const ContextValues sampling = sampling_values(context);
    values.insert(values.end(), sampling.begin(), sampling.end());
    values.insert(values.end(), context.settings.begin(), context.settings.end());
    return values;
}

std::optional<double> busy_processors(double seconds, double period, double processors) {
    constexpr double min_period = 0.1; // s
    if (std::isnan(seconds) || period < min_period) {
        return std::nullopt;
    }
    return std::clamp(seconds / period, 0.0, processors);
}

std::string describe_environment(const Context &context) {
    const auto line = [](const auto &variable) { return fmt::format("{}={}", variable.first, variable.second); };
    return join(mapped(context.environment, line), "\n");
}

std::string describe_algorithms(const SamplingContext &context) {
    const auto line = [](const auto &algorithm) { return fmt::format("{}: {}", algorithm.first, algorithm.second); };
    return join(mapped(context.algorithms, line), "\n");
}

std::string describe_hosts(const Context &context) {
    const auto line = [](const HostInfo &host) {
        return fmt::format("{}: {} ranks, {} processors, load {:.2f}, governor {}, CPU {}, virtual machine {}",
                           host.name, host.ranks, host.processors, host.load, host.governor, host.cpu_model,
                           host.virtual_machine);
    };
    return join(mapped(context.hosts, line), "\n");
}

std::string clock_setting(const Context &context, const std::string &name) {
    const auto setting = std::ranges::find(context.clock, name, &std::pair<std::string, std::string>::first);
    return setting == context.clock.end() ? "unknown" : setting->second;
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

const OffsetRound &RankOffset::tightest() const { return *std::ranges::min_element(rounds, {}, &OffsetRound::bound); }

ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets) {
    ClockAgreement agreement{static_cast<int>(offsets.size()), 0, 0, 0.0, 0.0};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const RankOffset &rank = offsets[i];
        agreement.contradictions += rank.contradictions;
        const bool is_inaccurate = rank.sync_error > rank.flag_error && rank.flag_error > 0.0;
        if (is_inaccurate && rank.unsure > agreement.unsure) {
            constexpr double margin = 1.5; // errors vary from synchronization to synchronization
            agreement.unsure = rank.unsure;
            agreement.flag_error = rank.flag_error;
            agreement.sync_error = rank.sync_error;
            // flag_error is proportional to the tolerance.
            agreement.needed_tolerance = margin * rank.tolerance * rank.sync_error / rank.flag_error;
        }
        const OffsetRound &round = rank.tightest();
        const double allowed = rank.error_bound + round.bound;
        const double offset = std::abs(round.offset);
        const bool outside = offset > allowed;
        agreement.outside += outside ? 1 : 0;
        // The worst rank has the largest offset of the ranks outside, or of all ranks if none is outside.
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

// Activity of other processes from which there is a warning, in processors. The services of an idle system, and the
// kernel's accounting in ticks of 10 ms over a run of some seconds, stay below.
constexpr double max_activity = 0.1;

// Error bound of the clock from which there is a warning, relative to the makespan. The error adds to makespan and exit
// skew in full.
constexpr double max_error_share = 0.1;

// Change of latencies within blocks below which there is no warning: the default of warm-up rule stationary.
constexpr double small_slope = 0.02;

bool is_oversubscribed(const HostInfo &host) { return host.ranks > host.processors; }

/// Warns of hosts with more ranks than processors, or with a varying processor frequency.
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

/// Warns of other processes that were active during the run.
void warn_of_others(const std::vector<OthersActivity> &others, std::vector<std::string> &warnings) {
    for (const OthersActivity &activity : others) {
        if (activity.processors > max_activity) {
            warnings.push_back(
                fmt::format("other processes kept {:.1f} processors of {} busy during the run: they interrupt ranks, "
                            "so samples are slow or rejected; measure on an idle machine",
                            activity.processors, activity.host));
        }
    }
}

/// Warns of ranks that are not bound to a core.
void warn_of_ranks(const Context &context, std::vector<std::string> &warnings) {
    // Ranks that share processors should not be bound, and warn_of_hosts() has warned.
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

/// Warns if the clock's error bound is large compared with a makespan.
void warn_of_clock(const std::vector<CellResult> &results, std::vector<std::string> &warnings) {
    const CellResult *worst = nullptr;
    double worst_share = max_error_share;
    for (const CellResult &result : results) {
        const double share = result.error_bound / result.metric("makespan").median; // NaN if the cell has no samples
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

/// True if latencies change within the blocks of a cell; false if the slope is NaN.
bool drifts(const CellResult &result) { return std::abs(result.slope) > std::max(result.slope_by_chance, small_slope); }

/// Warns of cells whose latencies change within blocks.
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

/// Warns of cells whose warm-up reached its limit before latencies were stationary.
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
    constexpr double max_unsure = 0.1; // a smaller share only costs some repeated samples
    if (agreement.unsure >= max_unsure) {
        warnings.push_back(fmt::format(
            "the paths between these clocks vary so much that they are known to {:.2g} us, where flags ask for {:.2g} "
            "us: {:.0f} % of the starts failed for that; use --tolerance {:.1g} or more, or DOWNBEAT_TOLERANCE=auto",
            agreement.sync_error * 1e6, agreement.flag_error * 1e6, agreement.unsure * 100.0,
            agreement.needed_tolerance));
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
    warn_of_warmup(results, warnings);
    warn_of_slopes(results, warnings);
    warn_of_agreement(agreement, warnings);
    return warnings;
}

} // namespace bench
