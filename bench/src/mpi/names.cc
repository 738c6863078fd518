#include "mpi/names.h"

#include "mpi/mpi_check.h"
#include "text/words.h"

#include <array>
#include <fmt/format.h>
#include <string_view>

namespace bench {

std::string host_name() {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    return printable({name, static_cast<std::size_t>(length)});
}

std::string mpi_library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    std::string version(text.data(), static_cast<std::size_t>(length));
    version.erase(version.find_last_not_of(std::string_view(" \t\n\0", 4)) + 1);
    return version;
}

std::string mpi_standard() {
    int version = 0;
    int subversion = 0;
    check(MPI_Get_version(&version, &subversion), "MPI_Get_version");
    return fmt::format("{}.{}", version, subversion);
}

} // namespace bench
