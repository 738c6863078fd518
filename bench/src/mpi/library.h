// The MPI library: its name and version, the host name, and all settings of MPI, networks and libdownbeat that are not
// defaults, for the context that result files record.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// A setting that is not the default.
struct Setting {
    std::string name; // name of its environment variable
    std::string value;
    std::string source; // "/path/file:line", or Open MPI's word for another source; "" for the environment
};

/// All settings of the MPI library, its networks and libdownbeat, from the environment and from files, sorted by name.
/// Call it after MPI_Init.
std::vector<Setting> find_settings();

/// The host name according to MPI.
std::string host_name();

/// The name and version of the MPI library, from MPI_Get_library_version.
std::string mpi_library();

/// The version of the MPI standard that the library supports, e.g. "3.1".
std::string mpi_standard();

} // namespace bench
