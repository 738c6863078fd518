// Measures clock synchronization schemes for `downbeat-bench clock`. Every scheme has a communicator, and thus a global
// clock, of its own, so the waits between synchronizations and checks overlap.
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

/// Local. The library's statistics of a communicator.
MPIX_Harmonize_stats stats_of(MPI_Comm comm);

/// The global clock of a scheme, on a duplicate of the communicator. It is synchronized only on request.
class SchemeClock {
public:
    /// Collective. Synchronizes the clock for the first time. Throws Error::everywhere if the library cannot.
    SchemeClock(const Communicator &comm, const std::string &scheme);
    ~SchemeClock();
    SchemeClock(const SchemeClock &) = delete;
    SchemeClock &operator=(const SchemeClock &) = delete;

    MPI_Comm handle() const { return comm_; }

    /// Collective.
    void synchronize() const;

    /// Local. The number of messages that this rank has sent or received in synchronizations.
    double messages() const;
    /// Local. The number of groups of ranks that share a local clock.
    int domains() const;
    /// Local. The error of this rank's clock at this moment, reported by the library.
    ClockError error() const { return read_clock_error(comm_); }
    /// Collective over `comm`. Returns, on rank 0, the edges of the last synchronization, i.e. the comparisons of all
    /// ranks' clocks with their partners' (only scheme disciplined has partners), and the scatter of their residuals.
    /// Returns no edges on other ranks.
    ClockEdges edges(const Communicator &comm) const;

    /// Collective. True if the library can report true errors, i.e. with the validation clock.
    bool knows_truth() const;
    /// Collective. The true error of this rank's clock, s.
    double true_error() const;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Synchronizes repeatedly with each scheme, and checks the clocks after each wait.
class ClockMeasurement {
public:
    /// `validation`: ranks use the validation clock. `quiet`: show no progress.
    ClockMeasurement(const Communicator &comm, const ClockOptions &options, bool validation, std::uint64_t seed,
                     bool quiet);

    /// Collective. Returns complete results on rank 0; the results of other ranks must not be used. Throws
    /// Error::everywhere if the library cannot synchronize the clocks with a scheme.
    ClockResults run();

private:
    /// Collective. Synchronizes once with each scheme, in random order, and makes all checks.
    void run_repetition(long repetition);
    ClockRun &run_of(std::size_t scheme, long repetition);
    /// Chooses the next action: synchronizes the next scheme of `order` if it will finish before the next check is due;
    /// otherwise sleeps until the check. Rank 0 only. `synchronized`: number of schemes that are done.
    long choose_action(DueEvents &pending, const std::vector<std::size_t> &order, std::size_t synchronized) const;
    /// Collective. Synchronizes with a scheme, makes its check without a wait, and adds the others to `pending`.
    /// `position`: index in the order of this repetition.
    void synchronize(std::size_t scheme, long repetition, std::size_t position, DueEvents &pending);
    /// Collective. Checks the clocks of a scheme.
    void check_clocks(std::size_t scheme, long repetition, std::size_t wait);

    const Communicator &comm_;
    bool validation_;
    std::mt19937_64 random_;                           // gives the same numbers on all ranks
    std::vector<std::unique_ptr<SchemeClock>> clocks_; // [scheme]
    std::vector<double> synced_at_;                    // [scheme] end of its last synchronization, s of steady_time()
    std::vector<double> longest_;                      // [scheme] longest synchronization and check so far, s
    std::vector<Pair> pairs_;                          // rank 0 with each checked rank
    ClockResults results_;
    Progress progress_;
    std::size_t checks_ = 0; // number of checks so far
};

} // namespace bench
