#pragma once

#include "mpi/communicator.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// Shares information of one rank with all.

/// Collective. The text of a file, which rank 0 reads. Throws Error::everywhere if it cannot be read.
std::string read_everywhere(const Communicator &comm, const std::string &path);

/// Collective. The host of each rank, numbered from 0 in order of appearance.
std::vector<int> number_nodes(const Communicator &comm);

/// Collective. The seed given, else one that rank 0 draws; short, so that people can type it again.
std::uint64_t choose_seed(const Communicator &comm, const std::optional<std::uint64_t> &given);

} // namespace bench
