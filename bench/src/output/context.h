#pragma once

#include "rules/cell.h"
#include "text/field.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

constexpr int schema_version = 3; // of all files of this program; CHANGELOG.md says what changed

/// One rank's place.
struct RankPlace {
    std::string host;
    std::string cpuset; // processors (PU numbers of the operating system) that it may run on, e.g. "0-3,8"
    int cores;          // that these processors belong to
};

struct HostInfo {
    std::string name;
    int ranks;
    int processors;       // that the ranks of the host may run on, taken together
    double load;          // one-minute load average before the measurement
    std::string governor; // of cpufreq; "unknown" if the kernel does not say
    std::string cpu_model;
    std::string virtual_machine; // "yes", "no", "unknown"
};

/// The information that a reader needs to judge or repeat the measurement.
struct Context {
    std::string version;  // of downbeat
    std::string revision; // of git
    std::string compiler;
    std::string date; // UTC, ISO 8601
    std::string command_line;
    std::string mpi_library; // as MPI_Get_library_version gives it
    std::string mpi_standard;
    std::string platform_model; // simulated; "" on a machine
    std::vector<RankPlace> ranks;
    std::vector<HostInfo> hosts;
    std::vector<std::pair<std::string, std::string>> clock; // settings of libdownbeat
    double error_bound;                                     // seconds, largest over the ranks, before the measurement
    double expected_error;                                  // the same for one standard deviation of the expected error
    double clock_resolution; // seconds, the step in which stamps advance, largest over the ranks; 0 in a simulation
    std::vector<std::pair<std::string, std::string>> environment; // settings, wherever they were made
    std::uint64_t seed;
    std::vector<std::string> outputs;
};

/// A value of the context by the name that files use.
using ContextValue = std::variant<std::string, double, long, std::uint64_t>;
using ContextValues = std::vector<std::pair<std::string, ContextValue>>;

/// The context of samples of operations.
struct SamplingContext : Context {
    std::string stopping; // rule
    std::string warmup;   // rule
    double tolerance;     // seconds
    StartLimits starts;   // which of them make a sample count
    double stamp_cost;    // seconds between two stamps without a call, largest over the ranks; 0 in a simulation
    std::vector<std::pair<std::string, std::string>> algorithms; // of the MPI library, chosen: how it is known
    std::vector<std::string> user_operations;                    // "my_op: /path/my_op.so"
    ContextValues settings;                                      // options that are recorded as they are
};

/// Processors of a host that other processes than the ranks kept busy, on average over the measurement.
struct OthersActivity {
    std::string host;
    double processors;
};

/// Mean number of busy processors over a period; nothing if the busy seconds are unknown, or the period is too short
/// for the kernel's ticks of 10 ms.
std::optional<double> busy_processors(double seconds, double period, double processors);

/// The attribute of a model that stands for the machine; every format of cells has it.
constexpr const char *model_attribute = "simulated";

/// Where the value of an attribute comes from: an option or a variable; the machine or a program; the run itself.
enum class Origin { setting, property, measured };

/// A global attribute of a file. `downbeat-bench list attribute` shows all; tools/bench-lists writes them into Python.
struct Attribute : Field {
    /// `label`: of two sides, "stopping rule: fixed / budget"; the name if it is "". `among`: of launches of one
    /// experiment, which should agree; "" if they may differ. `factors`: of a plan, "library,variant", which change it.
    /// `always`: else files without it did not ask for it.
    Attribute(Origin origin, std::string name, std::string unit, std::string meaning, std::string label = "",
              std::string among = "", std::string factors = "", bool always = true);
};

template <typename Type> inline constexpr bool is_optional = false;
template <typename Type> inline constexpr bool is_optional<std::optional<Type>> = true;

/// An attribute with its value, a member or a function of a part of the context. An empty optional is not written.
template <typename Source> struct AttributeOf : Attribute {
    std::function<std::optional<ContextValue>(const Source &)> value;

    template <typename Get>
    AttributeOf(Origin origin, std::string of_name, std::string of_unit, std::string of_meaning, Get get,
                std::string label = "", std::string among = "", std::string factors = "")
        : Attribute(origin, std::move(of_name), std::move(of_unit), std::move(of_meaning), std::move(label),
                    std::move(among), std::move(factors),
                    !is_optional<std::decay_t<std::invoke_result_t<Get, const Source &>>>) {
        value = [get](const Source &source) -> std::optional<ContextValue> {
            const auto &result = std::invoke(get, source);
            using Result = std::decay_t<decltype(result)>;
            if constexpr (std::is_integral_v<Result> && !std::is_same_v<Result, std::uint64_t>) {
                return static_cast<long>(result);
            } else {
                return result;
            }
        };
    }
};

/// The values of attributes that the source has.
template <typename Source>
ContextValues values_of(const std::vector<AttributeOf<Source>> &attributes, const Source &source) {
    ContextValues values;
    for (const AttributeOf<Source> &attribute : attributes) {
        if (auto value = attribute.value(source)) {
            values.emplace_back(attribute.name, *std::move(value));
        }
    }
    return values;
}

ContextValues context_values(const Context &context);
ContextValues context_values(const SamplingContext &context);
/// Of those, the attributes that just samples have, without the recorded options.
ContextValues sampling_values(const SamplingContext &context);

/// The attributes of files of launches; those of settings that are recorded as they are, in run/options.cc.
std::vector<Attribute> context_attributes();

/// "DOWNBEAT_CLOCK=tsc", one line per variable; " (/path/file:line)" follows a value that is from a file.
std::string describe_environment(const Context &context);
/// "reduce[binary]: set at ...", one line per algorithm that was chosen; "" if none was.
std::string describe_algorithms(const SamplingContext &context);
/// One line per host.
std::string describe_hosts(const Context &context);

/// A setting of the clock by its name; "unknown" if the library does not have it.
std::string clock_setting(const Context &context, const std::string &name);

/// The first line of the MPI library's version text, without what follows the first comma.
std::string short_mpi_library(const std::string &version);

/// One measurement of the offset of a rank's global clock to rank 0's. Seconds.
struct OffsetRound {
    double offset;
    double bound; // of the error of offset
};

/// The measurements of one rank's global clock. Seconds.
struct RankOffset {
    std::vector<OffsetRound> rounds; // one at least
    double error_bound;              // that the library reports for the rank's clock
    long long contradictions = 0;    // that it counted
    double unsure = 0.0; // share of its starts whose flag was 0 because of its clock, where flags follow the tolerance
    double sync_error = 0.0; // the expected error directly after the last synchronization
    double flag_error = 0.0; // that flags ask for
    double tolerance = 0.0;  // that this follows from

    /// The round with the narrowest bound. The one with the smallest offset could hide a wrong clock: a delayed message
    /// widens the bound and can shift the offset towards 0.
    const OffsetRound &surest() const;
};

/// Whether the clocks of a run still agree at its end, as Niethammer 2016, section III.A asks.
struct ClockAgreement {
    int ranks;      // that were compared with rank 0
    int outside;    // of these, farther off than the bounds allow
    int worst;      // the rank farthest off among those outside, else among all; 0 if there is no other rank
    double offset;  // of that rank, seconds
    double allowed; // to that rank, seconds

    long long contradictions = 0; // of what the library assumes, by the clocks of all ranks in the run
    // Of the ranks whose clocks are still not known as well as flags ask for, that with the largest share of starts
    // that failed for it:
    double unsure = 0.0;   // this share, ...
    double known_to = 0.0; // ... to what its clock is known (one standard deviation), ...
    double asked = 0.0;    // ... to what flags ask for, seconds, ...
    double needed = 0.0;   // ... and the tolerance with which they would ask for no more than that
};

/// Of files whose run is complete.
const std::vector<AttributeOf<ClockAgreement>> &agreement_attributes();

/// `offsets` of ranks 1, 2, ... A rank's clock may be off by its own bound plus that of the surest round.
ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets);

/// "at most 0.012 us off rank 0 (rank 1), within the bounds (0.034 us)"
std::string describe_agreement(const ClockAgreement &agreement);

// Problems that a reader should know before trusting the numbers. Each is one line: the observation, why it matters,
// what to do.

/// About the machine, for every kind of measurement.
std::vector<std::string> find_machine_warnings(const Context &context, const std::vector<OthersActivity> &others);

/// About clocks that no longer agree at the end.
void warn_of_agreement(const ClockAgreement &agreement, std::vector<std::string> &warnings);

/// About samples of operations.
std::vector<std::string> find_warnings(const Context &context, const std::vector<CellResult> &results,
                                       const std::vector<OthersActivity> &others, const ClockAgreement &agreement);

} // namespace bench
