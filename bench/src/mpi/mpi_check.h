#pragma once

#include <mpi.h>
#include <string>

namespace bench {

/// "MPI_ERR_ARG: invalid argument of some other kind", in the library's words, on one line.
std::string mpi_error_text(int code);

/// Throws Error::here unless an MPI function returned MPI_SUCCESS. `call` is the function's name.
void throw_mpi_error(int code, const char *call);

inline void check(int code, const char *call) {
    if (code != MPI_SUCCESS) {
        throw_mpi_error(code, call);
    }
}

class Communicator;

/// Collective. Throws Error::everywhere, on all ranks, unless every rank brings MPI_SUCCESS; `what` begins the message.
void check_everywhere(const Communicator &comm, int code, const std::string &what);

} // namespace bench
