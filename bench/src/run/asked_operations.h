#pragma once

#include "operations/operation.h"
#include "text/component.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// An operation with its parameters, as the command line asks for it.
struct AskedOperation {
    Component component;
    OperationInfo info;
};

/// The valid operations, for help and messages; of collectives only the blocking form, since the other forms have
/// similar names.
std::string valid_operations();

/// The operations of the command line, each with those of `parameters`, e.g. "root=1", that it has and does not name
/// itself. An operation with computation comes after the same one without, for comparison. Throws Error::usage if
/// something is unknown, cannot be measured, occurs twice, is a subcommand, or a parameter fits none.
std::vector<AskedOperation> parse_operations(const std::vector<std::string> &words,
                                             const std::vector<std::string> &parameters,
                                             const std::vector<std::string> &subcommands);

bool any_sized(const std::vector<AskedOperation> &operations);

/// Throws Error::usage if an operation cannot take its parameters on so many ranks, or one of the sizes (bytes).
void check_sizes(const std::vector<AskedOperation> &operations, const std::vector<std::uint64_t> &sizes, int ranks);

} // namespace bench
