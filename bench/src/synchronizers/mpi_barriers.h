#pragma once

#include "mpi/mpi_check.h"
#include "synchronizers/barrier_synchronizer.h"

namespace bench {

/// MPI_Barrier, several times in a row.
class MpiBarriers : public BarrierSynchronizer {
public:
    MpiBarriers(const SynchronizerArguments &arguments, long count)
        : BarrierSynchronizer(arguments), comm_(arguments.barrier), count_(count) {}

private:
    void barrier() override {
        for (long i = 0; i < count_; ++i) {
            check(MPI_Barrier(comm_), "MPI_Barrier");
        }
    }

    MPI_Comm comm_;
    long count_;
};

} // namespace bench
