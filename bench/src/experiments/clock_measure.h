#pragma once

#include "experiments/clock_results.h"
#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "output/output.h"
#include "text/parse.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <random>
#include <string>
#include <vector>

namespace bench {

/// Local. Counts of the library on a communicator.
MPIX_Harmonize_stats stats_of(MPI_Comm comm);

/// The global clock of one scheme, on a communicator of its own, synchronized only on request.
class SchemeClock {
public:
    /// Collective. Synchronizes for the first time. Throws Error::everywhere if the library refuses.
    SchemeClock(const Communicator &comm, const std::string &scheme);
    ~SchemeClock();
    SchemeClock(const SchemeClock &) = delete;
    SchemeClock &operator=(const SchemeClock &) = delete;

    MPI_Comm handle() const { return comm_; }

    /// Collective.
    void synchronize() const;

    /// Local. Messages that this process sent or received in synchronizations so far.
    double messages() const;
    /// Local. Groups of processes that share a clock.
    int domains() const;
    /// Local. As the library reports it.
    ClockError error() const { return read_clock_error(comm_); }
    /// Collective over `comm`. Complete at rank 0 alone.
    ClockEdges edges(const Communicator &comm) const;

    /// Collective. Whether the library knows true errors.
    bool knows_truth() const;
    /// Collective. Seconds.
    double true_error() const;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Synchronizes with each scheme repeatedly and checks the clocks some time after. The waits of the schemes overlap:
/// each scheme has a communicator, and thus a global clock, of its own.
class ClockMeasurement {
public:
    /// Collective. Throws Error::everywhere if a scheme cannot be prepared.
    ClockMeasurement(const Communicator &comm, const ClockOptions &options, bool validation, std::uint64_t seed,
                     bool quiet);

    /// Collective. Complete at rank 0 alone.
    ClockResults run();

private:
    void repeat(long repetition);
    ClockRun &run_of(std::size_t scheme, long repetition);
    long choose_action(DueEvents &pending, const std::vector<std::size_t> &order, std::size_t synchronized) const;
    void synchronize(std::size_t scheme, long repetition, std::size_t position, DueEvents &pending);
    void look(std::size_t scheme, long repetition, std::size_t wait);

    const Communicator &comm_;
    bool validation_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<SchemeClock>> clocks_; // per scheme
    std::vector<double> synced_at_;                    // per scheme: end of its last synchronization, monotonic seconds
    std::vector<double> longest_;                      // per scheme: its longest synchronization so far, seconds
    std::vector<Pair> pairs_;                          // rank 0 with each checked rank
    ClockResults results_;
    Progress progress_;
    std::size_t looks_ = 0; // so far
};

} // namespace bench
