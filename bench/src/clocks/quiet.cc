#include "clocks/quiet.h"

#include "mpi/mpi_check.h"

namespace bench {

void barrier_quietly(const Communicator &comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm.handle(), &request), "MPI_Ibarrier");
    wait_quietly(&request);
}

long broadcast_quietly(const Communicator &comm, long value) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(&value, 1, MPI_LONG, 0, comm.handle(), &request), "MPI_Ibcast");
    wait_quietly(&request);
    return value;
}

std::vector<double> gather_quietly(const Communicator &comm, const std::vector<double> &values) {
    const int count = static_cast<int>(values.size());
    std::vector<double> all(comm.is_root() ? values.size() * static_cast<std::size_t>(comm.size()) : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm.handle(), &request),
          "MPI_Igather");
    wait_quietly(&request);
    return all;
}

void bring_to_root(const Communicator &comm, int source, std::vector<double> &values) {
    constexpr int tag = 3; // turns.cc has 1 and 2
    const int count = static_cast<int>(values.size());
    if (source == 0 || (comm.rank() != 0 && comm.rank() != source)) {
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    if (comm.is_root()) {
        check(MPI_Irecv(values.data(), count, MPI_DOUBLE, source, tag, comm.handle(), &request), "MPI_Irecv");
    } else {
        check(MPI_Isend(values.data(), count, MPI_DOUBLE, 0, tag, comm.handle(), &request), "MPI_Isend");
    }
    wait_quietly(&request);
}

} // namespace bench
