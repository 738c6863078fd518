// What the harness adds: the batch scheme beside a loop written by hand, in one launch, with the same library and the
// same buffers. Run by `make bench-overhead`.

#include "clocks/global_clock.h"
#include "launch/sampler.h"
#include "metrics/metric.h"
#include "mpi/communicator.h"
#include "mpi/mpi_check.h"
#include "operations/operation.h"
#include "output/print_error.h"
#include "statistics/statistics.h"
#include "synchronizers/synchronizer.h"
#include "text/component.h"
#include "text/names.h"
#include "timings/timing.h"

#include <cmath>
#include <fmt/format.h>
#include <mpi.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

/// The last call that the harness has made, so that the loop can make the same one with the same buffers. Both go
/// through these functions, which cost either as much.
struct LastCall {
    const void *send;
    void *receive;
    int count;
    MPI_Datatype type;
} last_call;

} // namespace

extern "C" {

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    last_call = {send, receive, count, type};
    return PMPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    last_call = {nullptr, buffer, count, type};
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    last_call = {send, receive, count, type};
    return PMPI_Alltoall(send, count, type, receive, receive_count, receive_type, comm);
}

} // extern "C"

namespace bench {
namespace {

constexpr int samples = 400;  // of each
constexpr double most = 0.03; // by which medians may differ

/// What programs have that measure with MPI alone.
using Loop = void (*)(long calls, const LastCall &call, MPI_Comm comm);

void allreduce(long calls, const LastCall &call, MPI_Comm comm) {
    for (long i = 0; i < calls; ++i) {
        MPI_Allreduce(call.send, call.receive, call.count, call.type, MPI_SUM, comm);
    }
}

void bcast(long calls, const LastCall &call, MPI_Comm comm) {
    for (long i = 0; i < calls; ++i) {
        MPI_Bcast(call.receive, call.count, call.type, 0, comm);
    }
}

void alltoall(long calls, const LastCall &call, MPI_Comm comm) {
    for (long i = 0; i < calls; ++i) {
        MPI_Alltoall(call.send, call.count, call.type, call.receive, call.count, call.type, comm);
    }
}

/// Seconds per call, mean over ranks, at rank 0.
double time_loop(Loop loop, long calls, const LastCall &call, const Communicator &comm) {
    check(MPI_Barrier(comm.handle()), "MPI_Barrier");
    const double begin = MPI_Wtime();
    loop(calls, call, comm.handle());
    const double time = (MPI_Wtime() - begin) / static_cast<double>(calls);
    double sum = 0.0;
    check(MPI_Reduce(&time, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm.handle()), "MPI_Reduce");
    return sum / comm.size();
}

/// Times of the harness and of the loop in turns, the first of them by chance, as one line of a table.
std::string compare(const std::string &name, Loop loop, std::uint64_t size, const Communicator &comm,
                    const GlobalClock &clock) {
    const Component component = parse_component("operation", name, all_operations());
    const Component barrier = parse_component("synchronizer", "mpi_barrier", all_synchronizers());
    const Component batch = parse_component("timing scheme", "batch", all_timings());
    const auto operation = find_by_name(all_operations(), name).make({comm.handle(), size, component});
    const auto timing = find_by_name(all_timings(), "batch").make(batch);
    HarmonizedComms harmonized(comm, clock);
    const auto synchronizer = find_by_name(all_synchronizers(), "mpi_barrier")
                                  .make({comm, clock, comm.handle(), comm.handle(), harmonized, barrier});
    Sampler sampler(comm, clock, 0);
    operation->run();
    const LastCall call = last_call;
    std::mt19937_64 random(1);
    std::vector<double> by_harness;
    std::vector<double> by_loop;
    for (int i = 0; i < samples; ++i) {
        const bool loop_first = random() % 2 == 0;
        for (const bool by_hand : {loop_first, !loop_first}) {
            if (by_hand) {
                by_loop.push_back(time_loop(loop, timing->calls(), call, comm));
            } else {
                const Batch measured = sampler.sample(*synchronizer, *operation, *timing, {0.0}, 0.0);
                by_harness.push_back(comm.is_root() ? metrics::latency_avg().value(measured[0]) : 0.0);
            }
        }
    }
    const double harness = summarize(by_harness).median;
    const double plain = summarize(by_loop).median;
    const double ratio = plain > 0.0 ? harness / plain : 1.0; // on other ranks than 0 neither is known
    return fmt::format("{:<10} {:>7} {:>12.3f} {:>12.3f} {:>8.3f}   {}\n", name, size, plain * 1e6, harness * 1e6,
                       ratio, std::abs(ratio - 1.0) <= most ? "met" : "MISSED");
}

void run() {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    std::string table = fmt::format("median over {} samples, in turns; time per call, mean over ranks [us]\n\n"
                                    "{:<10} {:>7} {:>12} {:>12} {:>8}   within {:.0f} %\n",
                                    samples, "operation", "bytes", "plain loop", "batch", "ratio", most * 100);
    for (const std::uint64_t size : {8, 65536}) {
        table += compare("allreduce", allreduce, size, comm, clock);
        table += compare("bcast", bcast, size, comm, clock);
        table += compare("alltoall", alltoall, size, comm, clock);
    }
    if (comm.is_root()) {
        fmt::print("{}", table);
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    try {
        bench::run();
    } catch (const std::exception &error) {
        bench::print_error(error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
