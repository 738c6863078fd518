#pragma once

#include "rules/cell.h"

#include <cstdint>
#include <optional>
#include <string>
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
    std::string simulated; // platform; "" on a machine
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

/// Options that the context records as they are.
struct SamplingSettings {
    long max_attempts = 20; // per valid sample wanted
    int observed = 0;       // rank
    bool permuted = false;  // arrival patterns, over the ranks
    StartLimits starts;     // which of them make a sample count
};

/// The context of samples of operations.
struct SamplingContext : Context, SamplingSettings {
    std::string stopping; // rule
    std::string warmup;   // rule
    double tolerance;     // seconds
    double stamp_cost;    // seconds between two stamps without a call, largest over the ranks; 0 in a simulation
    std::vector<std::pair<std::string, std::string>> algorithms; // of the MPI library, chosen: how it is known
    std::vector<std::string> user_operations;                    // "my_op: /path/my_op.so"
};

/// Processors of a host that other processes than the ranks kept busy, on average over the measurement.
struct OthersActivity {
    std::string host;
    double processors;
};

/// Mean number of busy processors over a period; nothing if the busy seconds are unknown, or the period is too short
/// for the kernel's ticks of 10 ms.
std::optional<double> busy_processors(double seconds, double period, double processors);

/// The scalar part of the context by the names that files use.
using ContextValue = std::variant<std::string, double, long, std::uint64_t>;
using ContextValues = std::vector<std::pair<std::string, ContextValue>>;
ContextValues context_values(const Context &context);
ContextValues context_values(const SamplingContext &context);

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

/// `offsets` of ranks 1, 2, ... A rank's clock may be off by its own bound plus that of the surest round.
ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets);

/// "at most 0.012 us off rank 0 (rank 1), within the bounds (0.034 us)"
std::string describe_agreement(const ClockAgreement &agreement);

// Problems that a reader should know before trusting the numbers. Each is one line: what was seen, why it matters, what
// to do.

/// About the machine, for every kind of measurement.
std::vector<std::string> find_machine_warnings(const Context &context, const std::vector<OthersActivity> &others);

/// About clocks that no longer agree at the end.
void warn_of_agreement(const ClockAgreement &agreement, std::vector<std::string> &warnings);

/// About samples of operations.
std::vector<std::string> find_warnings(const Context &context, const std::vector<CellResult> &results,
                                       const std::vector<OthersActivity> &others, const ClockAgreement &agreement);

} // namespace bench
