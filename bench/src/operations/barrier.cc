#include "mpi_check.h"
#include "operation.h"

namespace bench {
namespace {

class Barrier : public Operation {
public:
    explicit Barrier(const OperationArguments &arguments) : comm_(arguments.comm) {}
    void run() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

private:
    MPI_Comm comm_;
};

} // namespace

OperationInfo operations::barrier() {
    return {{"barrier", "MPI_Barrier", "", {}},
            {.sized = false, .rooted = false, .size_divisor = 1, .max_size = 0},
            [](std::uint64_t) -> std::string { return "none"; },
            [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
                return std::make_unique<Barrier>(arguments);
            }};
}

} // namespace bench
