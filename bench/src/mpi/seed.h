#pragma once

#include "mpi/communicator.h"

#include <cstdint>
#include <optional>

namespace bench {

/// Collective. The seed given, else one that rank 0 draws; short, so that people can type it again.
std::uint64_t choose_seed(const Communicator &comm, const std::optional<std::uint64_t> &given);

} // namespace bench
