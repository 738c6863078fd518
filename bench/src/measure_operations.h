#pragma once

#include "experiment.h"

namespace bench {

/// The experiment without a name: operations behind synchronizers. Throws Error::usage.
ParsedExperiment parse_operations(int argc, char **argv, int ranks);

} // namespace bench
