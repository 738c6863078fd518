#pragma once

#include "experiments/machine.h"
#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "output/context.h"
#include "output/sink.h"
#include "run/command_line.h"
#include "text/error.h"

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// The results of a subcommand other than the measurement of operations.
struct Findings {
    Dataset data;
    std::string table;                 // between the lines about the machine and the warnings
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

/// Collective. The context of this launch; information on other ranks is complete at rank 0 only.
Context gather_context(const Communicator &comm, const GlobalClock &clock, const CommonOptions &options,
                       std::uint64_t seed, const std::string &command_line);

/// Warnings on standard error, where the format of standard output shows none.
void print_warnings(const std::string &format, const std::vector<std::string> &warnings);

} // namespace bench
