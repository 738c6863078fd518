#include "barrier_synchronizer.h"
#include "mpi_check.h"

namespace bench {
namespace {

class MpiBarrier : public BarrierSynchronizer {
public:
    explicit MpiBarrier(const SynchronizerArguments &arguments)
        : BarrierSynchronizer(arguments), comm_(arguments.barrier) {}

private:
    void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

    MPI_Comm comm_;
};

} // namespace

SynchronizerInfo synchronizers::mpi_barrier() {
    return {{"mpi_barrier", "MPI_Barrier of the MPI library, as other benchmarks use it", "Hunold 2015, section 2", {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<MpiBarrier>(arguments);
            },
            [](const Part &) { return true; }};
}

} // namespace bench
