#include "mpi_check.h"

#include "communicator.h"
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

void check_everywhere(const Communicator &comm, int code, const std::string &what) {
    const std::string text = code == MPI_SUCCESS ? "" : mpi_error_text(code);
    check(MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, comm.handle()), "MPI_Allreduce");
    if (code != MPI_SUCCESS) {
        throw Error::everywhere(fmt::format("{}: {}", what, text));
    }
}

} // namespace bench
