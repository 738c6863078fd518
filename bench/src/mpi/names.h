#pragma once

#include <string>

namespace bench {

/// The host as MPI names it.
std::string host_name();

/// The MPI library, as MPI_Get_library_version gives it.
std::string mpi_library();

/// The version of the standard that it claims, e.g. "3.1".
std::string mpi_standard();

} // namespace bench
