#pragma once

#include "cell.h"
#include "error.h"

#include <vector>

namespace bench {

/// At rank 0: the run's exit status; where a cell lacks samples, one line that says which and what would help.
ExitStatus judge_run(const std::vector<CellResult> &results);

} // namespace bench
