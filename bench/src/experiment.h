#pragma once

#include "communicator.h"
#include "error.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// What one run of downbeat-bench does, its options checked.
class Experiment {
public:
    virtual ~Experiment() = default;

    /// Collective. `command` is the command line, for the record.
    virtual ExitStatus run(const Communicator &comm, const std::string &command) = 0;
};

/// An experiment, or the text that --help or --version asks for.
using ParsedExperiment = std::variant<std::unique_ptr<Experiment>, std::string>;

struct ExperimentInfo {
    std::string name;
    std::string description;
    /// Throws Error::usage. argv[0] is the experiment's name; `ranks` is the size of the communicator.
    ParsedExperiment (*parse)(int argc, char **argv, int ranks);
};

// One line per experiment that stands in place of operations; <name>/experiment.cc defines the function of that name.
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

/// The experiment that the first word names, else the measurement of the operations that the words name. Throws
/// Error::usage.
ParsedExperiment parse_command_line(int argc, char **argv, int ranks);

} // namespace bench
