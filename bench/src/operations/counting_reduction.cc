#include "operations/counting_reduction.h"

#include "mpi/communicator.h"
#include "operations/collective.h"

#include <string_view>
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

/// The reduction of that name on doubles, in any of its forms; nullptr if it is unknown.
std::unique_ptr<Call> bind_reduction(std::string_view name, const double *send, double *receive, int count, MPI_Op op,
                                     int root, MPI_Comm comm) {
    if (name == "reduce" || name == "ireduce") {
        return bind_call(BENCH_FORMS(Reduce, reduce), send, receive, count, MPI_DOUBLE, op, root, comm);
    }
    if (name == "allreduce" || name == "iallreduce") {
        return bind_call(BENCH_FORMS(Allreduce, allreduce), send, receive, count, MPI_DOUBLE, op, comm);
    }
    if (name == "scan") {
        return bind_call(BENCH_FORMS(Scan, scan), send, receive, count, MPI_DOUBLE, op, comm);
    }
    if (name == "exscan") {
        return bind_call(BENCH_FORMS(Exscan, exscan), send, receive, count, MPI_DOUBLE, op, comm);
    }
    return nullptr;
}

} // namespace

std::optional<std::int64_t> count_reduction_calls(const std::string &operation, int count, int root, MPI_Comm comm) {
    const CountingOperator op;
    const std::vector<double> send(static_cast<std::size_t>(count), 1.0);
    std::vector<double> receive(send.size(), 0.0);
    const auto call = bind_reduction(operation, send.data(), receive.data(), count, op.handle(), root, comm);
    if (!call) {
        return std::nullopt;
    }
    calls = 0;
    if (operation.starts_with('i')) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(call->start(&request), operation.c_str());
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    } else {
        check(call->run(), operation.c_str());
    }
    return calls;
}

} // namespace bench
