#include "buffer.h"
#include "mpi_check.h"
#include "operation.h"
#include "reduction.h"

namespace bench {
namespace {

class Allreduce : public Operation {
public:
    explicit Allreduce(const OperationArguments &arguments)
        : comm_(arguments.comm), reduction_(arguments.size), send_(arguments.size), receive_(arguments.size) {}
    void run() override {
        check(MPI_Allreduce(send_.data(), receive_.data(), reduction_.count(), reduction_.datatype(), MPI_SUM, comm_),
              "MPI_Allreduce");
    }

private:
    MPI_Comm comm_;
    Reduction reduction_;
    Buffer send_;
    Buffer receive_;
};

} // namespace

OperationInfo operations::allreduce() {
    return {{"allreduce",
             "MPI_Allreduce with MPI_SUM on MPI_DOUBLE, or on MPI_FLOAT where the size is no multiple of 8",
             "",
             {}},
            {.sized = true, .rooted = false, .size_divisor = Reduction::size_divisor, .max_size = Reduction::max_size},
            [](std::uint64_t size) { return Reduction(size).name(); },
            [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
                return std::make_unique<Allreduce>(arguments);
            }};
}

} // namespace bench
