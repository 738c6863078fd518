#include "mpi_check.h"
#include "synchronizer.h"

namespace bench {
namespace {

class MpiBarrier : public Synchronizer {
public:
    explicit MpiBarrier(MPI_Comm comm) : comm_(comm) {}

    bool start() override {
        check(MPI_Barrier(comm_), "MPI_Barrier");
        return true; // a barrier promises no instant, so nobody can be late
    }

    Start last_start() const override { return {}; }

private:
    MPI_Comm comm_;
};

} // namespace

SynchronizerInfo synchronizers::mpi_barrier() {
    return {"mpi_barrier", "MPI_Barrier of the MPI library, as other benchmarks use it",
            [](MPI_Comm comm) -> std::unique_ptr<Synchronizer> { return std::make_unique<MpiBarrier>(comm); }};
}

} // namespace bench
