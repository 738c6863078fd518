#include "buffer.h"
#include "mpi_check.h"
#include "operation.h"

#include <limits>

namespace bench {
namespace {

class Bcast : public Operation {
public:
    explicit Bcast(const OperationArguments &arguments)
        : comm_(arguments.comm), root_(arguments.root), count_(static_cast<int>(arguments.size)),
          buffer_(arguments.size) {}
    void run() override { check(MPI_Bcast(buffer_.data(), count_, MPI_BYTE, root_, comm_), "MPI_Bcast"); }

private:
    MPI_Comm comm_;
    int root_;
    int count_;
    Buffer buffer_;
};

} // namespace

OperationInfo operations::bcast() {
    return {{"bcast", "MPI_Bcast of MPI_BYTE", "", {}},
            {.sized = true, .rooted = true, .size_divisor = 1, .max_size = std::numeric_limits<int>::max()},
            [](std::uint64_t) -> std::string { return "MPI_BYTE"; },
            [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
                return std::make_unique<Bcast>(arguments);
            }};
}

} // namespace bench
