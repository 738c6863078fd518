// Monitors the speed of the machine: the round trip of a cache line between neighboring ranks, read before and after
// each block of samples.
#pragma once

#include "mpi/communicator.h"

#include <atomic>
#include <cstdint>

namespace bench {

/// Measures the round trip of a cache line between neighboring ranks of a node: 0 and 1, 2 and 3, ... If no node has
/// two ranks, measures the round trip of an empty message between neighboring ranks. The round trip does not depend on
/// a cell. If it changes, the machine has changed: the host has moved the processors of a virtual machine, or a
/// frequency has fallen. Latencies then change, too.
class NeighborRoundTrip {
public:
    /// Collective.
    explicit NeighborRoundTrip(const Communicator &comm);
    ~NeighborRoundTrip();
    NeighborRoundTrip(const NeighborRoundTrip &) = delete;
    NeighborRoundTrip &operator=(const NeighborRoundTrip &) = delete;

    /// Collective; takes some 10 us. Returns the round trip of the slowest pair, s, on rank 0, and NaN on other ranks.
    /// Returns NaN on rank 0, too, with one rank, in a simulation, and if a pair was disturbed, e.g. because its ranks
    /// did not run at the same time.
    double read();

private:
    /// Two words of a cache line. The asker writes numbers to `question`; the partner copies them to `answer`.
    /// Two words, so that a late answer does not overwrite the question that ends a reading.
    struct Line {
        std::atomic<std::uint32_t> question = 0;
        std::atomic<std::uint32_t> answer = 0;
    };

    /// Measures the round trip of the cache line, as the asker. Returns s; NaN if the measurement was disturbed.
    double time_line() const;
    /// Answers the asker's time_line().
    void return_line() const;
    /// Measures the round trip of an empty message, as the asker. Returns s; NaN if the measurement was disturbed.
    double time_messages() const;
    /// Answers the asker's time_messages().
    void return_messages() const;

    const Communicator &comm_;
    MPI_Comm pairs_ = MPI_COMM_NULL; // ranks of a node; all ranks if no node has two; null in a simulation
    MPI_Win window_ = MPI_WIN_NULL;  // shared memory of the lines
    Line *line_ = nullptr;           // line of this pair; null if the pair sends messages
    int partner_ = MPI_PROC_NULL;    // rank in pairs_
    bool is_asker_ = false;          // true: this rank asks and its partner answers
};

} // namespace bench
