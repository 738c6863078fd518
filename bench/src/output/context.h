// The context of a measurement, i.e. the information that a reader needs to judge or repeat it: versions, machine,
// ranks, clock, settings. Also the attributes by which files record the context, the final check of the clocks, and
// warnings.
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

constexpr int schema_version = 3; // of all files of this program; see CHANGELOG.md

/// The processors of a rank.
struct RankPlace {
    std::string host;
    std::string cpuset; // processors (PU numbers of the operating system) that it may run on, e.g. "0-3,8"
    int cores;          // number of cores that these processors belong to
};

/// A host with ranks.
struct HostInfo {
    std::string name;
    int ranks;
    int processors;       // number of processors that any rank of the host may run on
    double load;          // load average over one minute before the measurement
    std::string governor; // of cpufreq; "unknown" if the kernel does not report it
    std::string cpu_model;
    std::string virtual_machine; // "yes", "no", "unknown"
};

/// The context of a measurement.
struct Context {
    std::string version;  // of downbeat-bench
    std::string revision; // git revision of its source
    std::string compiler; // that built it
    std::string date;     // start of the measurement, UTC, ISO 8601
    std::string command_line;
    std::string mpi_library; // text of MPI_Get_library_version
    std::string mpi_standard;
    std::string platform_model; // simulated platform; "" on a real machine
    std::vector<RankPlace> ranks;
    std::vector<HostInfo> hosts;
    std::vector<std::pair<std::string, std::string>> clock; // settings of libdownbeat: names and values
    double error_bound;      // error bound of the global clock before the measurement, s, largest over ranks
    double expected_error;   // standard deviation of its error before the measurement, s, largest over ranks
    double clock_resolution; // step in which stamps advance, s, largest over ranks; 0 in a simulation
    std::vector<std::pair<std::string, std::string>> environment; // settings of MPI, networks and libdownbeat on rank 0
    std::uint64_t seed;
    std::vector<std::string> outputs; // paths of result files
};

/// A value of the context, with the attribute's name in files.
using ContextValue = std::variant<std::string, double, long, std::uint64_t>;
using ContextValues = std::vector<std::pair<std::string, ContextValue>>;

/// The context of samples of operations.
struct SamplingContext : Context {
    std::string stopping; // stopping rule
    std::string warmup;   // warm-up rule
    double tolerance;     // s
    StartLimits starts;   // which starts make a sample count
    double stamp_cost;    // time between two stamps without a call, s, largest over ranks; 0 in a simulation
    std::vector<std::pair<std::string, std::string>> algorithms; // chosen: "reduce[binary]", how it was chosen
    std::vector<std::string> user_operations;                    // "my_op: /path/my_op.so"
    ContextValues settings;                                      // options that are recorded unchanged
};

/// The mean number of processors of a host that other processes than the ranks kept busy during the measurement.
struct OthersActivity {
    std::string host;
    double processors;
};

/// The mean number of busy processors in a period. `seconds`: busy time of all processors; `period`: s. Returns nullopt
/// if `seconds` is NaN, or if the period is too short for the kernel's ticks of 10 ms.
std::optional<double> busy_processors(double seconds, double period, double processors);

/// Name of the attribute with the simulated platform; every format of cells has it.
constexpr const char *model_attribute = "simulated";

/// The source of an attribute's value. setting: an option or variable; property: the machine or a program; measured:
/// the run itself.
enum class Origin { setting, property, measured };

/// A global attribute of a file. `downbeat-bench list attribute` shows all; tools/bench-lists writes them into Python.
struct Attribute : Field {
    /// `label`: short name in comparisons of two files, "stopping rule: fixed / budget"; by default `name`. `among`:
    /// the plural, for a warning that launches of an experiment differ; "" if they may differ. `factors`:
    /// comma-separated factors of a plan that change the attribute, e.g. "library,variant". `always`: all files have
    /// it; else a file without it did not request it.
    Attribute(Origin origin, std::string name, std::string unit, std::string meaning, std::string label = "",
              std::string among = "", std::string factors = "", bool always = true);
};

/// True for types std::optional<...>.
template <typename Type> inline constexpr bool is_optional = false;
template <typename Type> inline constexpr bool is_optional<std::optional<Type>> = true;

/// An attribute with a function that reads its value from a Source, e.g. a Context. An empty optional is not written.
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

/// The attributes that have a value in the source.
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

/// The values of the attributes of all files.
ContextValues context_values(const Context &context);
/// The values of the attributes of all files and of samples, and the options that are recorded unchanged.
ContextValues context_values(const SamplingContext &context);
/// The values of the attributes of samples only, without the options that are recorded unchanged.
ContextValues sampling_values(const SamplingContext &context);

/// The attributes of files of launches, except the options that are recorded unchanged (run/options.cc).
std::vector<Attribute> context_attributes();

/// The settings, one line per variable: "DOWNBEAT_CLOCK=tsc", followed by " (/path/file:line)" if a file sets the
/// value.
std::string describe_environment(const Context &context);
/// The chosen algorithms, one per line: "reduce[binary]: set at ..."; "" if none was chosen.
std::string describe_algorithms(const SamplingContext &context);
/// The hosts, one per line.
std::string describe_hosts(const Context &context);

/// The value of a setting of libdownbeat; "unknown" if the library does not have the setting.
std::string clock_setting(const Context &context, const std::string &name);

/// The MPI library's version text up to its first comma or line break, e.g. "Open MPI v4.1.4".
std::string short_mpi_library(const std::string &version);

/// A measurement of the offset of a rank's global clock to rank 0's global clock, s.
struct OffsetRound {
    double offset;
    double bound; // of the error of `offset`
};

/// The final check of a rank's global clock. Times are in s.
struct RankOffset {
    std::vector<OffsetRound> rounds; // at least one
    double error_bound;              // that the library reports for the rank's clock
    long long contradictions = 0;    // times that a clock contradicted the library's assumptions on its drift
    // With flag_error=auto, the share of the rank's starts whose flag was 0 because its clock was not known well
    // enough.
    double unsure = 0.0;
    double sync_error = 0.0; // expected error of the clock directly after the last synchronization
    double flag_error = 0.0; // largest expected error with which a flag may be 1; follows from the tolerance
    double tolerance = 0.0;  // the library's tolerance

    /// The round with the smallest bound. The round with the smallest offset could hide a wrong clock: a delayed
    /// message widens the bound and can shift the offset towards 0.
    const OffsetRound &tightest() const;
};

/// The result of the final check whether the global clocks agree (Niethammer 2016, section III.A).
struct ClockAgreement {
    int ranks;      // number of ranks that were compared with rank 0
    int outside;    // number of these ranks whose offset exceeds the allowed offset
    int worst;      // rank with the largest offset among those outside, or among all if none is outside; 0: one rank
    double offset;  // offset of rank `worst`, s
    double allowed; // offset that the error bounds allow for rank `worst`, s

    long long contradictions = 0; // RankOffset::contradictions, summed over ranks
    // The rank with the largest share of unsure starts, among ranks whose clocks are not known well enough:
    double unsure = 0.0;           // its share of unsure starts; 0 without such a rank
    double sync_error = 0.0;       // its RankOffset::sync_error, s
    double flag_error = 0.0;       // its RankOffset::flag_error, s
    double needed_tolerance = 0.0; // tolerance with which its starts would not be unsure, s
};

/// Attributes of the final check, for files of complete runs.
const std::vector<AttributeOf<ClockAgreement>> &agreement_attributes();

/// Judges the offsets of ranks 1, 2, ... The allowed offset of a rank is its error bound plus the bound of the tightest
/// round.
ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets);

/// Describes the result: "at most 0.012 us off rank 0 (rank 1), within the bounds (0.034 us)".
std::string describe_agreement(const ClockAgreement &agreement);

// Warnings: problems that a reader must know to judge the numbers. Each is a line with the observation, its effect, and
// what to do.

/// Warnings about the machine, for every kind of measurement.
std::vector<std::string> find_machine_warnings(const Context &context, const std::vector<OthersActivity> &others);

/// Adds warnings about clocks that do not agree at the end.
void warn_of_agreement(const ClockAgreement &agreement, std::vector<std::string> &warnings);

/// All warnings about samples of operations.
std::vector<std::string> find_warnings(const Context &context, const std::vector<CellResult> &results,
                                       const std::vector<OthersActivity> &others, const ClockAgreement &agreement);

} // namespace bench
