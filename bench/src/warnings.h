#pragma once

#include "cell.h"
#include "context.h"

#include <string>
#include <vector>

namespace bench {

/// What a reader should know before trusting the numbers. Each is one line: what was seen, why it matters, what to do.
std::vector<std::string> find_warnings(const Context &context, const std::vector<CellResult> &results,
                                       const std::vector<OthersActivity> &others);

} // namespace bench
