#include "mpi_check.h"

#include "error.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {

std::string mpi_error_text(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        return fmt::format("error code {}", code);
    }
    std::string line(text, static_cast<std::size_t>(length));
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
}

void throw_mpi_error(int code, const char *call) {
    throw Error::here(fmt::format("{} failed: {}", call, mpi_error_text(code)));
}

} // namespace bench
