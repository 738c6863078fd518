#pragma once

#include "context/context.h"
#include "experiments/activity.h"
#include "experiments/experiment_outputs.h"
#include "mpi/communicator.h"
#include "options/command_line.h"
#include "output/datasets/dataset.h"
#include "text/error.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// The findings of an experiment, in all forms.
struct Findings {
    Dataset data;
    std::string table;
    std::vector<std::string> warnings; // of the experiment itself
};

/// The steps of all experiments before and after they measure: open the files, prepare the clocks, gather the context,
/// write the results.
class ExperimentSession {
public:
    /// Collective. Throws Error if a file cannot be written or the clocks cannot be prepared.
    ExperimentSession(const Communicator &comm, const CommonOptions &options, const std::string &command);

    /// Complete at rank 0 alone.
    const Context &context() const { return context_; }
    std::uint64_t seed() const { return seed_; }

    /// Collective. `find` is called at rank 0 alone.
    ExitStatus finish(const std::function<Findings()> &find);

private:
    const Communicator &comm_;
    std::uint64_t seed_;
    std::optional<ExperimentOutputs> outputs_; // at rank 0
    Context context_;
    ActivityWatch watch_;
};

} // namespace bench
