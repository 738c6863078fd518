// Parses the operations of the command line, with the parameters of option --with, and checks the message sizes.
#pragma once

#include "operations/operation.h"
#include "text/component.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// An operation of the command line with its parameters.
struct RequestedOperation {
    Component component; // name and parameters
    OperationInfo info;  // what the registry, or the user's file, says about it
};

/// A text with the valid operations, for help and messages. It names only the blocking forms of collectives, since the
/// names of the other forms follow from them.
std::string valid_operations();

/// Parses the operations. Adds each of `parameters`, e.g. "root=1", to every operation that has such a parameter and
/// does not set it itself. Adds the operation without computation before an operation with computation, for comparison.
/// Throws Error::usage if an operation is unknown, cannot be measured, occurs twice or is a subcommand, or if no
/// operation has one of `parameters`.
std::vector<RequestedOperation> parse_operations(const std::vector<std::string> &words,
                                                 const std::vector<std::string> &parameters,
                                                 const std::vector<std::string> &subcommands);

/// True if an operation has a message size.
bool any_sized(const std::vector<RequestedOperation> &operations);

/// Throws Error::usage if the parameters of an operation are not valid for the number of ranks, or if the operation
/// cannot have one of the sizes (bytes).
void check_sizes(const std::vector<RequestedOperation> &operations, const std::vector<std::uint64_t> &sizes, int ranks);

} // namespace bench
