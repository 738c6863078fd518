#include "buffer.h"
#include "mpi_check.h"
#include "operation.h"
#include "reduction.h"

namespace bench {
namespace {

class Reduce : public Operation {
public:
    explicit Reduce(const OperationArguments &arguments)
        : comm_(arguments.comm), root_(arguments.root), reduction_(arguments.size), send_(arguments.size),
          receive_(arguments.size) {}
    void run() override {
        check(
            MPI_Reduce(send_.data(), receive_.data(), reduction_.count(), reduction_.datatype(), MPI_SUM, root_, comm_),
            "MPI_Reduce");
    }

private:
    MPI_Comm comm_;
    int root_;
    Reduction reduction_;
    Buffer send_;
    Buffer receive_;
};

} // namespace

OperationInfo operations::reduce() {
    return {
        {"reduce", "MPI_Reduce with MPI_SUM on MPI_DOUBLE, or on MPI_FLOAT where the size is no multiple of 8", "", {}},
        {.sized = true, .rooted = true, .size_divisor = Reduction::size_divisor, .max_size = Reduction::max_size},
        [](std::uint64_t size) { return Reduction(size).name(); },
        [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
            return std::make_unique<Reduce>(arguments);
        }};
}

} // namespace bench
