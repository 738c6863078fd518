#pragma once

#include "operation.h"
#include "part.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// An operation with its parameters, as the command line asks for it.
struct AskedOperation {
    Part part;
    OperationInfo info;
};

/// What may be asked for, as help and messages say it; collectives by their blocking form alone, the others go by the
/// same names.
std::string valid_operations();

/// The operations of the command line, each with those of `parameters`, as "root=1", that it has and does not name
/// itself. Before one that computes stands the same without computation, with which it is compared. Throws Error::usage
/// where something is unknown, cannot be measured, occurs twice, or a parameter fits none.
std::vector<AskedOperation> parse_operations(const std::vector<std::string> &words,
                                             const std::vector<std::string> &parameters);

bool any_sized(const std::vector<AskedOperation> &operations);

/// Throws Error::usage where an operation cannot take its parameters on so many ranks, or one of the sizes (bytes).
void check_sizes(const std::vector<AskedOperation> &operations, const std::vector<std::uint64_t> &sizes, int ranks);

} // namespace bench
