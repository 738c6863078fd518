#pragma once

#include "part.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// An MPI operation on buffers of its own, ready to be called again and again.
class Operation {
public:
    virtual ~Operation() = default;

    /// Collective. What is timed: from the call to the moment at which the operation is complete on this rank.
    virtual void run() = 0;
};

struct OperationArguments {
    MPI_Comm comm;
    std::uint64_t size; // bytes per process
    int root;
    const Part &part;
};

/// What an operation takes.
struct OperationTraits {
    bool sized;                 // message sizes
    bool rooted;                // --root
    std::uint64_t size_divisor; // every size is a multiple of this
    std::uint64_t max_size;     // bytes that a count of MPI elements can hold
};

struct OperationInfo : PartInfo {
    OperationTraits traits;
    std::string (*datatype)(std::uint64_t size);
    std::unique_ptr<Operation> (*make)(const OperationArguments &arguments);
};

// One line per operation; operations/<name>.cc defines the function of that name.
#define BENCH_OPERATIONS(OPERATION)                                                                                    \
    OPERATION(barrier)                                                                                                 \
    OPERATION(bcast)                                                                                                   \
    OPERATION(reduce)                                                                                                  \
    OPERATION(allreduce)                                                                                               \
    OPERATION(nothing)                                                                                                 \
    OPERATION(synthetic)

namespace operations {
#define BENCH_DECLARE(name) OperationInfo name();
BENCH_OPERATIONS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace operations

const std::vector<OperationInfo> &all_operations();

} // namespace bench
