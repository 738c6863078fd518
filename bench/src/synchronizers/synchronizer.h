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

/// A start, as known afterwards, in seconds; NaN if the synchronizer does not know it.
struct Start {
    double deadline = std::numeric_limits<double>::quiet_NaN(); // on the global clock, without any rank's delay
    double slack = std::numeric_limits<double>::quiet_NaN();
    double end =
        std::numeric_limits<double>::quiet_NaN(); // on the global clock; the sample is invalid if a rank leaves later
};

/// Information for a synchronizer before a series of starts. The same on all ranks.
struct Series {
    long starts;
    double duration; // seconds from a start to the next call of start(), estimated: the operation and the longest delay
};

/// A way to let all ranks start together.
class Synchronizer {
public:
    virtual ~Synchronizer() = default;

    /// Collective. Before every series: agrees on the parameters of its starts, and learns from the series before.
    virtual void prepare(const Series &) {}

    /// Starts after which prepare() is due, where such a call (see Series) takes `duration`, and the clocks may go
    /// unwatched for `unwatched` seconds. At least 1, the same on all ranks.
    virtual long longest_series(double duration, double unwatched) const {
        return static_cast<long>(std::clamp(unwatched / std::max(duration, 1e-9), 1.0, 1e9));
    }

    /// Collective. Returns when this rank is to start, `delay` seconds (which may differ between ranks) after the
    /// common start; false if it knows that it starts late.
    virtual bool start(double delay) = 0;

    /// Whether start() may synchronize the clocks of the run. Checking after each start costs time between samples,
    /// which barriers pass on.
    virtual bool synchronizes_clocks() const { return false; }

    /// Local. About the last start; called after the operation, so that asking costs no time before it.
    virtual Start last_start() const { return {}; }

    /// Local. After a start() that returned false: whether this rank does not know its clock well enough to know
    /// whether it started on time.
    virtual bool unsure() const { return false; }

    /// Local. Error of a clock of the synchronizer's own, which adds to that of the run's clock.
    virtual ClockError clock_error() const { return {}; }

    /// Seconds after which a cell is complete with what it has; none if the stopping rule alone decides.
    virtual std::optional<double> budget() const { return std::nullopt; }

    /// The remedy if too many starts fail, for the error message.
    virtual std::string advice() const { return "at most one rank per processor, an idle machine"; }
};

struct SynchronizerArguments {
    const Communicator &comm;
    const GlobalClock &clock;    // of comm
    MPI_Comm messages;           // a duplicate of comm for messages of the synchronizer's own
    MPI_Comm barrier;            // of the same ranks, for MPI_Barrier: its algorithm may be chosen
    HarmonizedComms &harmonized; // for starts by another method than the run's
    const Component &component;
};

struct SynchronizerInfo : ComponentInfo {
    /// Collective.
    std::unique_ptr<Synchronizer> (*make)(const SynchronizerArguments &arguments);
    /// Whether it calls MPI_Barrier at every start.
    bool (*calls_mpi_barrier)(const Component &component) = [](const Component &) { return false; };
};

namespace synchronizers {
SynchronizerInfo none();
SynchronizerInfo window();
SynchronizerInfo roundtime();
SynchronizerInfo harmonize();
} // namespace synchronizers

const std::vector<SynchronizerInfo> &all_synchronizers();
/// Those that bring all ranks together and need no parameters, so that they may also run before another synchronizer.
const std::vector<SynchronizerInfo> &all_barriers();

/// Collective. Seconds from rank 0's clock reading until a rank has received it: the mean of ten broadcasts, each after
/// a barrier, for the slowest rank. The same on all ranks. `messages` is a duplicate of `comm`.
double measure_broadcast_lag(const Communicator &comm, const GlobalClock &clock, MPI_Comm messages);

/// A sample's readings of the local clock.
struct Stamps {
    std::int64_t entry;
    std::int64_t exit;
};

/// The part of a sample between its two stamps, and these.
class Timing {
public:
    virtual ~Timing() = default;

    /// Collective. The timed part: one or more calls of the operation, right after the first stamp and right before
    /// the second.
    virtual Stamps run(Operation &operation, Synchronizer &synchronizer, const StampClock &clock) = 0;

    /// Calls of the operation per sample; times are divided by it.
    virtual long calls() const { return 1; }

    /// Whether run() uses the synchronizer, whose last start is then no longer that of the sample.
    virtual bool synchronizes() const { return false; }
};

struct TimingInfo : ComponentInfo {
    std::unique_ptr<Timing> (*make)(const Component &component);
};

const std::vector<TimingInfo> &all_timings();

/// Timing scheme `window` and the synchronizer of that name belong together.
constexpr const char *window_name = "window";

} // namespace bench
