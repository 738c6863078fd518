#include "mpi/quiet.h"

#include "mpi/mpi_check.h"
#include "mpi/simulation.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

namespace bench {

void wait_quietly(MPI_Request *request) {
    if (!simulated_platform().empty()) { // a simulated rank that waits takes no processor time from others
        check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
        return;
    }
    constexpr int most_yields = 50;
    constexpr std::chrono::microseconds longest_nap{1000};
    std::chrono::microseconds nap{50};
    for (int polls = 0;; ++polls) {
        int done = 0;
        check(MPI_Test(request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) {
            return;
        }
        if (polls < most_yields) {
            sched_yield();
        } else {
            std::this_thread::sleep_for(nap);
            nap = std::min(2 * nap, longest_nap);
        }
    }
}

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
    constexpr int tag = 3; // take_turns() has 1 and 2
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
