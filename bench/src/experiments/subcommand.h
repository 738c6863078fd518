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

/// Where the calling process may run.
struct Binding {
    std::string cpuset;    // processors by the operating system's numbers, e.g. "0-3,8"
    int cores;             // with at least one of them
    std::string cpu_model; // "unknown" if the kernel does not say
};
Binding read_binding();

/// The number of processors in the union of sets such as Binding::cpuset.
int count_processors(const std::vector<std::string> &cpusets);

/// One-minute load average; NaN if the system does not say.
double read_load();

/// The cpufreq governor of the processor that the caller runs on; "unknown" if the kernel does not say.
std::string read_governor();

/// Whether the processor reports a hypervisor: "yes", "no", or "unknown" where processors do not report it.
std::string read_virtual_machine();

/// Records the activity of all hosts' processors during the measurement. The load average is not enough: it averages
/// over a minute, so a machine that has just finished compiling looks busy.
class ActivityWatch {
public:
    /// Starts.
    ActivityWatch();

    /// Collective. Per host, since the start, at rank 0; no entry for a host whose system does not say.
    std::vector<OthersActivity> finish(const Communicator &comm) const;

private:
    struct Reading {
        double wall; // seconds
        double own;  // processor seconds of this process
        double host; // processor seconds of the host that were not idle; NaN if the system does not say
    };
    static Reading read();

    Reading start_;
};

/// Collective. The work of a command line, checked. `command` is the command line, for the record.
using Work = std::function<ExitStatus(const Communicator &comm, const std::string &command)>;

/// The work, or the text that --help or --version asks for.
using ParsedWork = std::variant<Work, std::string>;

struct SubcommandInfo : SubcommandName {
    /// Throws Error::usage. argv[0] is the subcommand's name; `ranks` is the size of the communicator.
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

const std::vector<SubcommandInfo> &all_subcommands();

/// Without a subcommand: measures operations after synchronizers. Throws Error::usage.
ParsedWork parse_measurement(int argc, char **argv, int ranks);

/// The subcommand that the first word names, else the measurement of the operations that the words name. With --check,
/// which may be anywhere, an empty text. Throws Error::usage.
ParsedWork parse_command_line(int argc, char **argv, int ranks);

/// The results of a subcommand other than the measurement of operations.
struct Findings {
    Dataset data;                      // its fields with headings are the tables
    std::string head;                  // lines above the tables, below those about the machine
    std::vector<std::string> warnings; // of the subcommand itself
};

/// The work of subcommands before and after they measure: opens the files, prepares the clocks, gathers the context,
/// writes the results.
class Session {
public:
    /// Collective. Throws Error if a file cannot be written or the clocks cannot be prepared.
    Session(const Communicator &comm, const CommonOptions &options, const std::string &command);

    /// Complete at rank 0 alone.
    const Context &context() const { return context_; }
    std::uint64_t seed() const { return seed_; }

    /// Collective. `find` is called at rank 0 alone.
    ExitStatus finish(const std::function<Findings()> &find);

private:
    const Communicator &comm_;
    const CommonOptions &options_;
    std::uint64_t seed_;
    Sinks sinks_; // at rank 0
    Context context_;
    ActivityWatch watch_;
};

/// The attributes of all files, those that subcommands add among them.
std::vector<Attribute> all_attributes();

/// Collective. The context of this launch; information on other ranks is complete at rank 0 only.
Context gather_context(const Communicator &comm, const GlobalClock &clock, const CommonOptions &options,
                       std::uint64_t seed, const std::string &command_line);

/// Warnings on standard error, where the format of standard output shows none.
void print_warnings(const std::string &format, const std::vector<std::string> &warnings);

} // namespace bench
