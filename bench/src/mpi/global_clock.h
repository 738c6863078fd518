// The global clock of libdownbeat as the benchmark uses it: timestamps, their errors, and synchronization. Stamps are
// readings of a rank's local clock that are converted to the global clock later. HarmonizedComm is a second global
// clock, for synchronizers that choose their starts in another way.
#pragma once

#include "mpi/communicator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <downbeat/clock.h>
#include <map>
#include <memory>
#include <mpi.h>
#include <mpix_harmonize.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Error of a rank's readings of a global clock relative to rank 0, in seconds.
struct ClockError {
    double bound = 0.0;    // upper bound of the absolute error
    double expected = 0.0; // standard deviation
};

/// Local. Reads the error of libdownbeat's clock for a communicator at this moment; it grows from one synchronization
/// to the next.
ClockError read_clock_error(MPI_Comm comm);

/// The error of two clocks in a chain: bounds add up, independent errors add in quadrature.
ClockError chained(const ClockError &a, const ClockError &b);

/// The larger bound and the larger standard deviation of two errors.
ClockError larger(const ClockError &a, const ClockError &b);

/// Makes stamps, i.e. readings of this rank's local clock, and converts them to the global clock after the measurement,
/// so that a stamp costs no more than reading the clock. The conversion is that of the last clock synchronization
/// before this object was created. The object must not outlive the communicator.
class StampClock {
public:
    explicit StampClock(const Downbeat_clock &clock) : clock_(clock) {}

    std::int64_t read() const { return clock_.read(clock_.clock); }

    /// Converts a stamp to seconds on the global clock.
    double seconds(std::int64_t stamp) const { return (static_cast<double>(clock_.global) + elapsed(stamp)) * 1e-9; }

    /// The error of seconds(stamp). The bound grows linearly and quadratically with the time before or after the
    /// synchronization. The variance grows only after the synchronization, with the variance and the random walk of
    /// the rate; it is at most the variance of an error distributed uniformly within the bound. Fields of
    /// Downbeat_clock: downbeat/clock.h.
    ClockError error(std::int64_t stamp) const {
        const double t = elapsed(stamp);
        const double bound = clock_.bound + std::abs(t) * (clock_.growth + std::abs(t) * clock_.ramp / 2.0);
        const double after = std::max(0.0, t);
        const double variance =
            clock_.variance + after * (2.0 * clock_.cross + after * (clock_.rate + after * clock_.walk / 3.0));
        return {bound * 1e-9, std::sqrt(std::clamp(variance, 0.0, bound * bound / 3.0)) * 1e-9};
    }

    /// True if the clocks were not synchronized between the creation of the two objects.
    bool same_as(const StampClock &other) const {
        return clock_.ticks == other.clock_.ticks && clock_.global == other.clock_.global;
    }

private:
    double elapsed(std::int64_t stamp) const { return static_cast<double>(stamp - clock_.ticks) * clock_.tick; } // ns

    Downbeat_clock clock_;
};

/// The global clock that libdownbeat keeps for a communicator. All timestamps of a run are on this clock.
class GlobalClock {
public:
    /// Collective. Prepares the library on `comm`. `tolerance`, s: how late a rank may be for its start to count as in
    /// time; if empty, the library's setting. If the setting is "auto", measures a tolerance once (3 to 20 s) and keeps
    /// it. Throws Error::everywhere if a setting in the environment is invalid.
    GlobalClock(const Communicator &comm, std::optional<double> tolerance);

    /// Seconds since the clock's epoch.
    double now() const {
        double time = 0.0;
        check(MPIX_Harmonize_time(comm_.handle(), &time), "MPIX_Harmonize_time");
        return time;
    }

    /// Local. Makes stamps until the next clock synchronization.
    StampClock stamps() const;

    /// Local. Waits until `time`, s on this clock. Returns false if this rank is late by more than the tolerance.
    bool wait_until(double time) const {
        int flag = 0;
        check(MPIX_Harmonize_wait_until(comm_.handle(), time, &flag), "MPIX_Harmonize_wait_until");
        return flag != 0;
    }

    /// Collective. Synchronizes the clocks if the last synchronization is too long ago. For callers whose synchronizer
    /// does not synchronize clocks.
    void refresh() const;

    /// Collective. The longest time between calls of refresh(), s: the time in which drift raises the error bound from
    /// 0 to the library's limit (setting max_error). Infinite if all ranks read the same clock.
    double max_refresh_interval() const;

    /// Local. The error of this rank's clock at this moment.
    ClockError error() const { return read_clock_error(comm_.handle()); }

    /// Collective. Returns the largest error over the ranks on rank 0, and 0 on other ranks.
    ClockError largest(const ClockError &error) const;

    /// The step in which stamps advance, s, largest over the ranks; 0 if no step was seen, as in a simulation.
    double resolution() const { return resolution_; }

    /// The library's settings at the end of the constructor, which hold for the run: names and values.
    const std::vector<std::pair<std::string, std::string>> &settings() const { return settings_; }

    /// The library's tolerance at the end of the constructor, which holds for the run, s.
    double tolerance() const;

    /// The share of this rank's starts in this run that failed because the error of its clock was too large for the
    /// tolerance; 0 unless setting flag_error is "auto". `now`: current statistics of the library.
    double share_unsure(const MPIX_Harmonize_stats &now) const;

private:
    /// The local clock and its conversion to the global clock after the last synchronization.
    Downbeat_clock conversion() const;
    /// The value of a setting of the library, which must exist.
    const std::string &setting(const std::string &name) const;

    const Communicator &comm_;
    std::vector<std::pair<std::string, std::string>> settings_;
    double resolution_ = 0.0;
    MPIX_Harmonize_stats before_{}; // statistics at the end of the constructor, before the starts of the run
};

/// A duplicate of the run's communicator on which libdownbeat chooses the slack, the time from the decision of rank 0
/// to the common start, by another method. It has a global clock of its own, so that the method does not affect the
/// run's clock.
class HarmonizedComm {
public:
    /// Collective. `slack`: setting of the library. `clock`: global clock of `comm`; its tolerance applies here, too.
    HarmonizedComm(const Communicator &comm, const GlobalClock &clock, const std::string &slack);
    ~HarmonizedComm();
    HarmonizedComm(const HarmonizedComm &) = delete;
    HarmonizedComm &operator=(const HarmonizedComm &) = delete;

    MPI_Comm handle() const { return comm_; }

    /// Converts a time (s) on this global clock to the run's global clock, which has all stamps. On rank 0, whose clock
    /// is the reference of both, the error is at most half the time of reading a clock.
    double on_clock_of_run(double time) const;

    /// Local. The error of this rank's readings of this clock at this moment.
    ClockError error() const { return read_clock_error(comm_); }

private:
    const GlobalClock &clock_;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Keeps a HarmonizedComm for each slack setting. Cells with the same setting share it, so that the method keeps its
/// state from cell to cell, as in a program.
class HarmonizedComms {
public:
    HarmonizedComms(const Communicator &comm, const GlobalClock &clock) : comm_(comm), clock_(clock) {}

    /// Collective on the first call with a `slack`; local afterwards.
    std::shared_ptr<const HarmonizedComm> with_slack(const std::string &slack);

private:
    const Communicator &comm_;
    const GlobalClock &clock_;
    std::map<std::string, std::shared_ptr<const HarmonizedComm>> by_slack_;
};

/// Throws Error::usage with the library's message unless `text` is a valid component of libdownbeat of `kind`
/// ("scheme", "offset"). `option` begins the message.
void check_component(const std::string &option, const char *kind, const std::string &text);

/// The names of libdownbeat's components of a kind; the first is the default.
std::vector<std::string> component_names(const char *kind);

} // namespace bench
