#include "synchronizers/synchronizer.h"

#include "mpi/communicator.h"

namespace bench {
namespace {

constexpr int broadcasts = 10;

double one_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages) {
    check(MPI_Barrier(messages), "MPI_Barrier");
    double seen = comm.is_root() ? clock.now() : 0.0;
    check(MPI_Bcast(&seen, 1, MPI_DOUBLE, 0, messages), "MPI_Bcast");
    return clock.now() - seen;
}

} // namespace

double measure_broadcast_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages) {
    one_lag(comm, clock, messages); // the first sets up connections
    double sum = 0.0;
    for (int i = 0; i < broadcasts; ++i) {
        sum += one_lag(comm, clock, messages);
    }
    double slowest = 0.0;
    check(MPI_Allreduce(&sum, &slowest, 1, MPI_DOUBLE, MPI_MAX, messages), "MPI_Allreduce");
    return slowest / broadcasts;
}

const std::vector<SynchronizerInfo> &all_synchronizers() {
    static const std::vector<SynchronizerInfo> all = [] {
        std::vector<SynchronizerInfo> found = {synchronizers::none()};
        found.insert(found.end(), all_barriers().begin(), all_barriers().end());
        for (const auto info : {synchronizers::window, synchronizers::roundtime, synchronizers::harmonize}) {
            found.push_back(info());
        }
        return found;
    }();
    return all;
}

} // namespace bench
