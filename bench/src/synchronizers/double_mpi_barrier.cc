#include "barrier_synchronizer.h"
#include "mpi_check.h"

namespace bench {
namespace {

class DoubleMpiBarrier : public BarrierSynchronizer {
public:
    explicit DoubleMpiBarrier(const SynchronizerArguments &arguments)
        : BarrierSynchronizer(arguments), comm_(arguments.barrier) {}

private:
    void barrier() override {
        check(MPI_Barrier(comm_), "MPI_Barrier");
        check(MPI_Barrier(comm_), "MPI_Barrier");
    }

    MPI_Comm comm_;
};

} // namespace

SynchronizerInfo synchronizers::double_mpi_barrier() {
    return {{"double_mpi_barrier",
             "MPI_Barrier twice: the second begins when the first has brought the ranks together",
             "IMB, optionally",
             {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<DoubleMpiBarrier>(arguments);
            },
            [](const Part &) { return true; }};
}

} // namespace bench
