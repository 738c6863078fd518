#include "operations/entry_order.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"

#include <algorithm>
#include <fmt/format.h>
#include <sched.h>
#include <vector>

namespace bench {
namespace {

constexpr long nap = 1'000'000; // ns; hundreds of times what a message takes
constexpr int entering = 1;     // tags
constexpr int left = 2;

void send(MPI_Comm comm, int to, int tag) { check(MPI_Send(nullptr, 0, MPI_BYTE, to, tag, comm), "MPI_Send"); }

int receive(MPI_Comm comm, int tag) {
    MPI_Status status;
    check(MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status), "MPI_Recv");
    return status.MPI_SOURCE;
}

/// Receives the messages of a nap. Yields the processor meanwhile, as others may need it to make progress.
std::vector<int> receive_while_napping(MPI_Comm comm, int tag) {
    std::vector<int> sources;
    for (const long end = unsteered_nanoseconds() + nap; unsteered_nanoseconds() < end;) {
        int waiting = 0;
        check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &waiting, MPI_STATUS_IGNORE), "MPI_Iprobe");
        if (waiting != 0) {
            sources.push_back(receive(comm, tag));
        }
        sched_yield();
    }
    return sources;
}

} // namespace

std::optional<std::string> find_early_leaver(MPI_Comm comm, int late, const std::function<void()> &run) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    if (rank != late) {
        send(comm, late, entering);
        run();
        send(comm, late, left);
        return std::nullopt;
    }
    for (int other = 1; other < ranks; ++other) {
        receive(comm, entering);
    }
    const std::vector<int> early = receive_while_napping(comm, left);
    run();
    for (std::size_t others = early.size() + 1; others < static_cast<std::size_t>(ranks); ++others) {
        receive(comm, left);
    }
    if (early.empty()) {
        return std::nullopt;
    }
    return fmt::format("rank {} left before this one entered", *std::ranges::min_element(early));
}

} // namespace bench
