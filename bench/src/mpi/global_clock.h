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

/// Error of a rank's readings of a global clock against rank 0's, in seconds.
struct ClockError {
    double bound = 0.0;    // hard
    double expected = 0.0; // one standard deviation
};

/// Local. The error of libdownbeat's clock for a communicator, from the last synchronization until now.
ClockError read_clock_error(MPI_Comm comm);

/// The error of two clocks in a chain: bounds add up, independent errors add in quadrature.
ClockError chained(const ClockError &a, const ClockError &b);

/// The larger of each.
ClockError larger(const ClockError &a, const ClockError &b);

/// Stamps: readings of this rank's local clock, which cost the reading and nothing else, and are converted to the
/// global clock when time no longer counts. It converts as the last clock synchronization before it was got left it;
/// reading works as long as the communicator does.
class StampClock {
public:
    explicit StampClock(const Downbeat_clock &clock) : clock_(clock) {}

    std::int64_t read() const { return clock_.read(clock_.clock); }

    /// The stamp on the global clock.
    double seconds(std::int64_t stamp) const { return (static_cast<double>(clock_.global) + elapsed(stamp)) * 1e-9; }

    /// The error of that.
    ClockError error(std::int64_t stamp) const {
        const double t = elapsed(stamp);
        const double bound = clock_.bound + std::abs(t) * (clock_.growth + std::abs(t) * clock_.ramp / 2.0);
        const double after = std::max(0.0, t);
        const double variance =
            clock_.variance + after * (2.0 * clock_.cross + after * (clock_.rate + after * clock_.walk / 3.0));
        return {bound * 1e-9, std::sqrt(std::clamp(variance, 0.0, bound * bound / 3.0)) * 1e-9};
    }

    /// Whether no synchronization came between the two.
    bool same_as(const StampClock &other) const {
        return clock_.ticks == other.clock_.ticks && clock_.global == other.clock_.global;
    }

private:
    double elapsed(std::int64_t stamp) const { return static_cast<double>(stamp - clock_.ticks) * clock_.tick; } // ns

    Downbeat_clock clock_;
};

/// The global clock that libdownbeat keeps for a communicator; all timestamps are on it.
class GlobalClock {
public:
    /// Collective. Prepares the library on `comm`; a `tolerance` (seconds) becomes the library's too; one that is
    /// automatic is found once, in 3 to 20 s, and stays. Throws Error::everywhere if a setting from the environment is
    /// invalid.
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
    /// the known bounds of the frequencies: calls of refresh() should be no farther apart.
    double longest_unwatched() const;

    /// Local. The error of this rank's readings from the last synchronization until now.
    ClockError error() const { return read_clock_error(comm_.handle()); }

    /// Collective. The largest over the ranks, at rank 0; 0 elsewhere.
    ClockError largest(const ClockError &error) const;

    /// Seconds by which stamps advance, the largest step over the ranks; 0 where the clock stands still between events.
    double resolution() const { return resolution_; }

    /// The library's settings in force.
    const std::vector<std::pair<std::string, std::string>> &settings() const { return settings_; }

    /// The library's tolerance in force, in seconds.
    double tolerance() const;

    /// The share of this rank's starts of the run that failed because its clock is not known as well as the tolerance
    /// asks; 0 where the user says what flags ask for.
    double share_unsure(const MPIX_Harmonize_stats &now) const;

private:
    Downbeat_clock local_clock() const;
    const std::string &setting(const std::string &name) const;

    const Communicator &comm_;
    std::vector<std::pair<std::string, std::string>> settings_;
    double resolution_ = 0.0;
    MPIX_Harmonize_stats before_{}; // the run's own starts
};

/// The ranks of a run on a communicator of their own, where libdownbeat starts them by another method than the run's.
/// It has another global clock, too: what a method does to its clocks stays its own.
class HarmonizedComm {
public:
    /// Collective. `slack` is the library's setting; `clock` is the run's, of `comm`, and gives the tolerance.
    HarmonizedComm(const Communicator &comm, const GlobalClock &clock, const std::string &slack);
    ~HarmonizedComm();
    HarmonizedComm(const HarmonizedComm &) = delete;
    HarmonizedComm &operator=(const HarmonizedComm &) = delete;

    MPI_Comm handle() const { return comm_; }

    /// An instant of this global clock (seconds) on the run's, where all stamps are. Exact at rank 0, which both clocks
    /// follow, to half the time that reading a clock takes.
    double on_clock_of_run(double time) const;

    /// Local. The error of this rank's readings of this clock, from its last synchronization until now.
    ClockError error() const { return read_clock_error(comm_); }

private:
    const GlobalClock &clock_;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// One for each setting, whatever cells use it, as a program has it: what a method has learned in one cell it takes
/// along to the next.
class HarmonizedComms {
public:
    HarmonizedComms(const Communicator &comm, const GlobalClock &clock) : comm_(comm), clock_(clock) {}

    /// Collective where it is the first with that slack.
    std::shared_ptr<const HarmonizedComm> with_slack(const std::string &slack);

private:
    const Communicator &comm_;
    const GlobalClock &clock_;
    std::map<std::string, std::shared_ptr<const HarmonizedComm>> by_slack_;
};

/// Throws Error::usage with the library's message unless the text is a valid component of the kind ("scheme",
/// "offset").
void check_component(const std::string &option, const char *kind, const std::string &text);

/// The names of all components of a kind, the default first.
std::vector<std::string> component_names(const char *kind);

} // namespace bench
