#pragma once

#include "mpi/communicator.h"
#include "options/options.h"
#include "text/error.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// Collective. One run of downbeat-bench, with checked options. `command` is the command line, for the record.
using Experiment = std::function<ExitStatus(const Communicator &comm, const std::string &command)>;

/// An experiment, or the text that --help or --version asks for.
using ParsedExperiment = std::variant<Experiment, std::string>;

struct ExperimentInfo : ExperimentName {
    /// Throws Error::usage. argv[0] is the experiment's name; `ranks` is the size of the communicator.
    ParsedExperiment (*parse)(int argc, char **argv, int ranks);
};

// One line per experiment that is named in place of operations; its file in this room defines the function of that
// name.
#define BENCH_EXPERIMENTS(EXPERIMENT)                                                                                  \
    EXPERIMENT(list)                                                                                                   \
    EXPERIMENT(clock)                                                                                                  \
    EXPERIMENT(rtt)                                                                                                    \
    EXPERIMENT(drift)                                                                                                  \
    EXPERIMENT(skew)                                                                                                   \
    EXPERIMENT(algorithms)

namespace experiments {
#define BENCH_DECLARE(name) ExperimentInfo name();
BENCH_EXPERIMENTS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace experiments

const std::vector<ExperimentInfo> &all_experiments();

/// The experiment without a name: measures operations after synchronizers. Throws Error::usage.
ParsedExperiment parse_operations(int argc, char **argv, int ranks);

/// The experiment that the first word names, else the measurement of the operations that the words name. With --check,
/// which may be anywhere, an empty text. Throws Error::usage.
ParsedExperiment parse_command_line(int argc, char **argv, int ranks);

} // namespace bench
