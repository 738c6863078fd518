#include "clocks/turns.h"

#include "clocks/quiet.h"
#include "mpi/mpi_check.h"

namespace bench {
namespace {

// Rank 0 signals the two ranks of a pair to begin; both report when they are done.
constexpr int begin_tag = 1;
constexpr int done_tag = 2;

void tell(const Communicator &comm, int rank, int tag) {
    if (rank != comm.rank()) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag, comm.handle(), &request), "MPI_Isend");
        wait_quietly(&request);
    }
}

void hear(const Communicator &comm, int rank, int tag) {
    if (rank != comm.rank()) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Irecv(nullptr, 0, MPI_BYTE, rank, tag, comm.handle(), &request), "MPI_Irecv");
        wait_quietly(&request);
    }
}

} // namespace

void take_turns(const Communicator &comm, const std::vector<Pair> &pairs,
                const std::function<void(std::size_t, const Pair &)> &work) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Pair &pair = pairs[i];
        const bool mine = comm.rank() == pair.asker || comm.rank() == pair.answerer;
        if (comm.is_root()) {
            tell(comm, pair.asker, begin_tag);
            tell(comm, pair.answerer, begin_tag);
        } else if (mine) {
            hear(comm, 0, begin_tag);
        }
        if (mine) {
            work(i, pair);
        }
        if (comm.is_root()) {
            hear(comm, pair.asker, done_tag);
            hear(comm, pair.answerer, done_tag);
        } else if (mine) {
            tell(comm, 0, done_tag);
        }
    }
}

} // namespace bench
