#pragma once

#include "cells/cell.h"
#include "text/error.h"

#include <vector>

namespace bench {

/// At rank 0: the run's exit status; if a cell lacks samples, prints one line with the cell and the remedy.
ExitStatus judge_run(const std::vector<CellResult> &results);

} // namespace bench
