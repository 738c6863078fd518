#pragma once

#include <cstdint>
#include <mpi.h>
#include <optional>
#include <string>

namespace bench {

/// Calls the reduction of that name on `count` doubles with an operator that counts its calls, and returns how often it
/// was called on this rank, which does not depend on timing. Nothing if the name is not that of a reduction.
/// Collective. Throws Error::here if MPI refuses.
std::optional<std::int64_t> count_reduction_calls(const std::string &operation, int count, int root, MPI_Comm comm);

} // namespace bench
