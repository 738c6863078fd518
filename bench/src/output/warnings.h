#pragma once

#include "output/clock_agreement.h"
#include "output/context.h"
#include "rules/cell.h"

#include <string>
#include <vector>

namespace bench {

// Problems that a reader should know before trusting the numbers. Each is one line: what was seen, why it matters, what
// to do.

/// About the machine, for every kind of measurement.
std::vector<std::string> find_machine_warnings(const Context &context, const std::vector<OthersActivity> &others);

/// About clocks that no longer agree at the end.
void warn_of_agreement(const ClockAgreement &agreement, std::vector<std::string> &warnings);

/// About samples of operations.
std::vector<std::string> find_warnings(const Context &context, const std::vector<CellResult> &results,
                                       const std::vector<OthersActivity> &others, const ClockAgreement &agreement);

} // namespace bench
