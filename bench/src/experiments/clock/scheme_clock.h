#pragma once

#include "clocks/clock_error.h"
#include "mpi/communicator.h"

#include <mpi.h>
#include <string>

namespace bench {

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

    /// Collective. Whether the library knows true errors.
    bool knows_truth() const;
    /// Collective. Seconds.
    double true_error() const;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace bench
