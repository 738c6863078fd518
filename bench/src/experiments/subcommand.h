// Subcommands of downbeat-bench: their registry, and what they share: gathering the context, writing results (Session),
// warnings, and properties of the machine.
#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "output/context.h"
#include "output/sink.h"
#include "run/command_line.h"
#include "text/error.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// The processors that the calling process may run on.
struct Binding {
    std::string cpuset;    // numbers of the operating system, e.g. "0-3,8"
    int cores;             // number of cores that they belong to
    std::string cpu_model; // "unknown" if the kernel does not report it
};
/// Reads where this rank may run.
Binding read_binding();

/// The number of processors in the union of sets such as Binding::cpuset.
int count_processors(const std::vector<std::string> &cpusets);

/// The load average over one minute; NaN if the system does not report it.
double read_load();

/// The cpufreq governor of the processor that the caller runs on; "unknown" if the kernel does not report it.
std::string read_governor();

/// "yes" if the processor reports a hypervisor, "no" if it does not, "unknown" on processors that cannot report it.
std::string read_virtual_machine();

/// Measures the activity of other processes on all hosts during the measurement. The load average cannot replace it: it
/// averages over a minute, so a machine that has just finished compiling seems busy.
class ActivityWatch {
public:
    /// Begins the period.
    ActivityWatch();

    /// Collective. Ends the period. Returns the activity on each host on rank 0, and an empty vector on other ranks.
    /// Hosts whose system does not report it are left out.
    std::vector<OthersActivity> finish(const Communicator &comm) const;

private:
    /// The times from which the activity follows; read at the begin and the end of the period.
    struct Reading {
        double wall;    // steady time, s
        double process; // processor time of this process, s
        double host;    // busy processor time of the host, s; NaN if the system does not report it
    };
    /// Reads the times now.
    static Reading read();

    Reading start_; // times at the begin of the period
};

/// Collective. Runs a parsed and checked command line. `command` is its text, for files.
using Work = std::function<ExitStatus(const Communicator &comm, const std::string &command)>;

/// The work of a command line, or a text to print, e.g. for --help.
using ParsedWork = std::variant<Work, std::string>;

/// A subcommand and its parser.
struct SubcommandInfo : SubcommandName {
    /// Parses its command line. Throws Error::usage. argv[0] is the subcommand's name; `ranks` is the size of the
    /// communicator.
    ParsedWork (*parse)(int argc, char **argv, int ranks);
};

namespace subcommands {
SubcommandInfo list();
SubcommandInfo clock();
SubcommandInfo rtt();
SubcommandInfo drift();
SubcommandInfo skew();
SubcommandInfo pairs();
SubcommandInfo algorithms();
} // namespace subcommands

/// All subcommands, in the order of the help text.
const std::vector<SubcommandInfo> &all_subcommands();

/// Parses a command line without a subcommand, which measures operations. Throws Error::usage.
ParsedWork parse_measurement(int argc, char **argv, int ranks);

/// Parses a command line, whose first word may name a subcommand. With option --check, which may be anywhere, returns
/// an empty text instead of work. Throws Error::usage.
ParsedWork parse_command_line(int argc, char **argv, int ranks);

/// The results of a subcommand other than the measurement of operations.
struct Findings {
    Dataset data;                      // fields with a heading are shown in tables
    std::string head;                  // lines above the tables, after the lines about the machine
    std::vector<std::string> warnings; // in addition to warnings about the machine
};

/// Work of subcommands before and after the measurement: opens the files, prepares the clocks, gathers the context, and
/// writes the results.
class Session {
public:
    /// Collective. Throws Error if a file cannot be written or the clocks cannot be prepared.
    Session(const Communicator &comm, const CommonOptions &options, const std::string &command);

    /// Complete on rank 0 only.
    const Context &context() const { return context_; }
    std::uint64_t seed() const { return seed_; }

    /// Collective. Writes the results that `find` returns; it is called on rank 0 only. Returns ExitStatus::success.
    ExitStatus finish(const std::function<Findings()> &find);

private:
    const Communicator &comm_;
    const CommonOptions &options_;
    std::uint64_t seed_;
    Sinks sinks_; // empty except on rank 0
    Context context_;
    ActivityWatch watch_;
};

/// The attributes of all files, including those of subcommands.
std::vector<Attribute> all_attributes();

/// Collective. Gathers the context of this run. It is complete on rank 0 only.
Context gather_context(const Communicator &comm, const GlobalClock &clock, const CommonOptions &options,
                       std::uint64_t seed, const std::string &command_line);

/// Prints warnings on standard error, unless the format of standard output contains them.
void print_warnings(const std::string &format, const std::vector<std::string> &warnings);

} // namespace bench
