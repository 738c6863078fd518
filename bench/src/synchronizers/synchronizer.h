// Synchronizers and timing schemes. A synchronizer brings all ranks to the start of a sample: by a barrier, or at a
// common time of the global clock (the deadline). A timing scheme decides which calls of the operation a sample's two
// stamps enclose.
#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "operations/operation.h"
#include "text/component.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>
#include <vector>

namespace bench {

constexpr double unknown_time = std::numeric_limits<double>::quiet_NaN(); // s

/// Times of a start, s; NaN if the synchronizer has no such time.
struct Start {
    double deadline = unknown_time; // common start without delays, on the global clock
    double slack = unknown_time;    // time from the decision on the deadline to the deadline
    double end = unknown_time;      // on the global clock; the sample is invalid if a rank leaves the operation later
};

/// A series of starts between two calls of Synchronizer::prepare(). The same on all ranks.
struct Series {
    long starts;     // number of starts
    double duration; // estimated time from a start to the next call of start(), s: operation and longest delay
};

/// A way to start all ranks together.
class Synchronizer {
public:
    virtual ~Synchronizer() = default;

    /// Collective. Called before every series: the ranks agree on the parameters of its starts.
    virtual void prepare(const Series &) {}

    /// The largest number of starts of a series, at least 1; the same on all ranks. `duration`: see Series.
    /// `refresh_interval`: longest time between two checks of the clocks, which happen before a series, s.
    virtual long longest_series(double duration, double refresh_interval) const {
        return static_cast<long>(std::clamp(refresh_interval / std::max(duration, 1e-9), 1.0, 1e9));
    }

    /// Collective. Returns at this rank's start, `delay` seconds after the common start; the delay may differ between
    /// ranks. Returns false (the flag of the sample is 0) if the rank starts late.
    virtual bool start(double delay) = 0;

    /// True if start() may synchronize the clocks of the run. The caller then reads the clock's parameters after each
    /// start; for other synchronizers it saves that time.
    virtual bool synchronizes_clocks() const { return false; }

    /// Local. Times of the last start. Called after the operation, so that it does not delay the operation.
    virtual Start last_start() const { return {}; }

    /// Local. Called after a start() that returned false: true if that is because the error of this rank's clock is too
    /// large to tell whether the rank was late.
    virtual bool unsure() const { return false; }

    /// Local. Error of the synchronizer's own clock, which adds to the error of the run's clock; 0 if it has none.
    virtual ClockError clock_error() const { return {}; }

    /// Time after which a cell is complete, s; empty if only the stopping rule decides.
    virtual std::optional<double> budget() const { return std::nullopt; }

    /// A remedy if too many starts fail, for the error message "...; try ...".
    virtual std::string advice() const { return "at most one rank per processor, an idle machine"; }
};

/// What a synchronizer is made from. References must outlive it, except `component`.
struct SynchronizerArguments {
    const Communicator &comm;    // the ranks to synchronize
    const GlobalClock &clock;    // of comm
    MPI_Comm messages;           // duplicate of comm for the synchronizer's messages
    MPI_Comm barrier;            // duplicate of comm for MPI_Barrier, whose algorithm the user may have chosen
    HarmonizedComms &harmonized; // communicators for starts with another slack than the run's
    const Component &component;  // name and parameters of the synchronizer
};

/// A synchronizer as an option names it.
struct SynchronizerInfo : ComponentInfo {
    /// Collective. Makes the synchronizer.
    std::unique_ptr<Synchronizer> (*make)(const SynchronizerArguments &arguments);
    /// True if the synchronizer calls MPI_Barrier at every start.
    bool (*calls_mpi_barrier)(const Component &component) = [](const Component &) { return false; };
};

namespace synchronizers {
SynchronizerInfo none();
SynchronizerInfo window();
SynchronizerInfo roundtime();
SynchronizerInfo harmonize();
} // namespace synchronizers

/// All synchronizers, in the order of help texts.
const std::vector<SynchronizerInfo> &all_synchronizers();
/// The barriers among the synchronizers. They need no parameters, so they may also run before another synchronizer.
const std::vector<SynchronizerInfo> &all_barriers();

/// Collective. The time from rank 0's clock reading until the slowest rank has received it in a broadcast, s: the mean
/// of ten broadcasts, each after a barrier. The same on all ranks. `messages` is a duplicate of `comm`.
double measure_broadcast_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages);

/// The two readings of the local clock of a sample, in ticks of that clock.
struct Stamps {
    std::int64_t entry; // before the operation
    std::int64_t exit;  // after the operation
};

/// A timing scheme: takes the stamps of a sample and makes the calls between them.
class Timing {
public:
    virtual ~Timing() = default;

    /// Collective. Takes a stamp, calls the operation once or several times, and takes a stamp.
    virtual Stamps run(Operation &operation, Synchronizer &synchronizer, const StampClock &clock) = 0;

    /// The number of calls of the operation per sample. Times are divided by it.
    virtual long calls() const { return 1; }

    /// True if run() calls the synchronizer. Then last_start() after run() is not the start of the sample.
    virtual bool synchronizes() const { return false; }
};

/// A timing scheme as an option names it.
struct TimingInfo : ComponentInfo {
    std::unique_ptr<Timing> (*make)(const Component &component);
};

/// All timing schemes, in the order of help texts.
const std::vector<TimingInfo> &all_timings();

/// Name of a timing scheme and of the synchronizer that it needs.
constexpr const char *window_name = "window";

} // namespace bench
