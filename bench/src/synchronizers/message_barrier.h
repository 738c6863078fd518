#pragma once

#include "mpi/mpi_check.h"
#include "synchronizers/barrier_synchronizer.h"

namespace bench {

/// The benchmark's own barrier, made of empty messages, so that it is the same under every MPI library (Hunold 2015,
/// section 4). Messages between two ranks do not overtake each other, so that one tag serves all rounds.
class MessageBarrier : public BarrierSynchronizer {
public:
    explicit MessageBarrier(const SynchronizerArguments &arguments)
        : BarrierSynchronizer(arguments), messages_(arguments.messages), rank_(arguments.comm.rank()),
          size_(arguments.comm.size()) {}

protected:
    int rank() const { return rank_; }
    int size() const { return size_; }

    void send(int to) const { check(MPI_Send(nullptr, 0, MPI_BYTE, to, 0, messages_), "MPI_Send"); }
    void receive(int from) const {
        check(MPI_Recv(nullptr, 0, MPI_BYTE, from, 0, messages_, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    void exchange(int to, int from) const {
        check(MPI_Sendrecv(nullptr, 0, MPI_BYTE, to, 0, nullptr, 0, MPI_BYTE, from, 0, messages_, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    }

private:
    MPI_Comm messages_;
    int rank_;
    int size_;
};

} // namespace bench
