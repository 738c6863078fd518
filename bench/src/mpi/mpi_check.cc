#include "mpi/mpi_check.h"

#include "mpi/communicator.h"
#include "text/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace bench {

namespace {

// MPICH 4.0 writes beyond MPI_MAX_ERROR_STRING if an error has passed through many of its functions.
constexpr std::size_t room = std::size_t{8} * MPI_MAX_ERROR_STRING;

} // namespace

std::string mpi_error_text(int code) {
    std::vector<char> text(room, '\0');
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
        return fmt::format("error code {}", code);
    }
    std::string line(text.data());
    std::ranges::replace(line, '\n', ' ');
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
