#include "algorithms/counting_reduction.h"

#include "mpi/mpi_check.h"

#include <vector>

namespace bench {
namespace {

// MPI gives an operator no argument of its caller's.
std::int64_t calls = 0;

void add_and_count(void *in, void *inout, int *count, MPI_Datatype *) {
    const auto *const a = static_cast<const double *>(in);
    auto *const b = static_cast<double *>(inout);
    for (int i = 0; i < *count; ++i) {
        b[i] += a[i];
    }
    ++calls;
}

/// Commutative, as MPI_SUM is: libraries choose other algorithms for operators that are not.
class CountingOperator {
public:
    CountingOperator() { check(MPI_Op_create(add_and_count, 1, &handle_), "MPI_Op_create"); }
    ~CountingOperator() { MPI_Op_free(&handle_); }
    CountingOperator(const CountingOperator &) = delete;
    CountingOperator &operator=(const CountingOperator &) = delete;
    MPI_Op handle() const { return handle_; }

private:
    MPI_Op handle_ = MPI_OP_NULL;
};

struct Call {
    const void *send;
    void *receive;
    int count;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

struct Reduction {
    const char *name;
    const char *function;
    int (*run)(const Call &call);
};

constexpr Reduction reductions[] = {
    {"reduce", "MPI_Reduce",
     [](const Call &c) { return MPI_Reduce(c.send, c.receive, c.count, MPI_DOUBLE, c.op, c.root, c.comm); }},
    {"allreduce", "MPI_Allreduce",
     [](const Call &c) { return MPI_Allreduce(c.send, c.receive, c.count, MPI_DOUBLE, c.op, c.comm); }},
    {"scan", "MPI_Scan", [](const Call &c) { return MPI_Scan(c.send, c.receive, c.count, MPI_DOUBLE, c.op, c.comm); }},
    {"exscan", "MPI_Exscan",
     [](const Call &c) { return MPI_Exscan(c.send, c.receive, c.count, MPI_DOUBLE, c.op, c.comm); }},
    {"ireduce", "MPI_Ireduce",
     [](const Call &c) {
         MPI_Request request = MPI_REQUEST_NULL;
         const int code = MPI_Ireduce(c.send, c.receive, c.count, MPI_DOUBLE, c.op, c.root, c.comm, &request);
         return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
     }},
    {"iallreduce", "MPI_Iallreduce",
     [](const Call &c) {
         MPI_Request request = MPI_REQUEST_NULL;
         const int code = MPI_Iallreduce(c.send, c.receive, c.count, MPI_DOUBLE, c.op, c.comm, &request);
         return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
     }},
};

} // namespace

std::optional<std::int64_t> count_reduction_calls(const std::string &operation, int count, int root, MPI_Comm comm) {
    for (const Reduction &reduction : reductions) {
        if (operation == reduction.name) {
            const CountingOperator op;
            const std::vector<double> send(static_cast<std::size_t>(count), 1.0);
            std::vector<double> receive(static_cast<std::size_t>(count), 0.0);
            calls = 0;
            check(reduction.run({send.data(), receive.data(), count, op.handle(), root, comm}), reduction.function);
            return calls;
        }
    }
    return std::nullopt;
}

} // namespace bench
