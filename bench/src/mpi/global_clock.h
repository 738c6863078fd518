#pragma once

#include "mpi/clock_error.h"
#include "mpi/communicator.h"
#include "mpi/mpi_check.h"
#include "mpi/stamp_clock.h"

#include <mpix_harmonize.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The global clock that libdownbeat keeps for a communicator; all timestamps are on it.
class GlobalClock {
public:
    /// Collective. Prepares the library on `comm`; a `tolerance` (seconds) becomes the library's too. Throws
    /// Error::everywhere if a setting from the environment is invalid.
    GlobalClock(const Communicator &comm, std::optional<double> tolerance);

    /// Seconds since the clock's epoch.
    double now() const {
        double time = 0.0;
        check(MPIX_Harmonize_time(comm_.handle(), &time), "MPIX_Harmonize_time");
        return time;
    }

    /// Local. For stamps until the next clock synchronization.
    StampClock stamps() const;

    /// Local. Returns at an instant of the clock (seconds); false if it is later than the tolerance after it.
    bool wait_until(double time) const {
        int flag = 0;
        check(MPIX_Harmonize_wait_until(comm_.handle(), time, &flag), "MPIX_Harmonize_wait_until");
        return flag != 0;
    }

    /// Collective. Synchronizes the clocks if they are too old. Needed if a synchronizer does not do it.
    void refresh() const;

    /// Collective. Seconds in which drift raises an error bound from 0 to the library's limit (setting max_error), by
    /// what is known of the frequencies: two calls of refresh() should not be farther apart.
    double longest_unwatched() const;

    /// Local. The error of this rank's readings from the last synchronization until now.
    ClockError error() const { return read_clock_error(comm_.handle()); }

    /// Collective. The largest over the ranks, at rank 0; 0 elsewhere.
    ClockError largest(const ClockError &error) const;

    /// Seconds by which stamps advance, the largest step over the ranks; 0 where the clock stands still (a simulation).
    double resolution() const { return resolution_; }

    /// The library's settings in force.
    const std::vector<std::pair<std::string, std::string>> &settings() const { return settings_; }

    /// The library's tolerance in force, in seconds.
    double tolerance() const;

private:
    Downbeat_clock local_clock() const;
    double setting(const std::string &name) const;

    const Communicator &comm_;
    std::vector<std::pair<std::string, std::string>> settings_;
    double resolution_ = 0.0;
};

} // namespace bench
