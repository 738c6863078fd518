#pragma once

#include "mpi/communicator.h"

#include <atomic>
#include <cstdint>

namespace bench {

/// The round trip of one cache line between neighboring ranks of a node, 0 and 1, 2 and 3, ...; where no node has two
/// ranks, that of an empty message between neighbors. It depends on the machine alone, so when it changes (a host moves
/// the processors of a virtual machine, a frequency falls), latencies change with it, and not because of a cell.
class NeighborRoundTrip {
public:
    /// Collective.
    explicit NeighborRoundTrip(const Communicator &comm);
    ~NeighborRoundTrip();
    NeighborRoundTrip(const NeighborRoundTrip &) = delete;
    NeighborRoundTrip &operator=(const NeighborRoundTrip &) = delete;

    /// Collective; takes some tens of microseconds. Seconds, of the slowest pair, at rank 0. NaN on other ranks, with
    /// one rank, without processors, and where a pair was disturbed, e.g. had not both processors at once.
    double read();

private:
    /// Two words of one cache line, so that a late answer does not overwrite the end of a reading.
    struct Line {
        std::atomic<std::uint32_t> asked = 0;
        std::atomic<std::uint32_t> answered = 0;
    };

    double time_line() const;
    void return_line() const;
    double time_messages() const;
    void return_messages() const;

    const Communicator &comm_;
    MPI_Comm pairs_ = MPI_COMM_NULL; // where partners find each other: of a node, or of all ranks
    MPI_Win window_ = MPI_WIN_NULL;  // where lines are
    Line *line_ = nullptr;           // of this pair
    int partner_ = MPI_PROC_NULL;
    bool asks_ = false; // and the partner answers
};

} // namespace bench
