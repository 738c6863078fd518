#pragma once

#include <string>
#include <vector>

namespace bench {

/// A value that is not the default.
struct Setting {
    std::string name; // as the environment spells it
    std::string value;
    std::string place; // "/path/file:line"; "" if it is from the environment
};

/// All settings of the MPI library, its networks and libdownbeat, by whatever means, sorted by name. After MPI_Init.
std::vector<Setting> find_settings();

/// The host as MPI names it.
std::string host_name();

/// The MPI library, as MPI_Get_library_version gives it.
std::string mpi_library();

/// The version of the standard that it claims, e.g. "3.1".
std::string mpi_standard();

} // namespace bench
