#pragma once

#include "mpi/communicator.h"
#include "mpi/global_clock.h"

#include <map>
#include <memory>
#include <mpi.h>
#include <string>

namespace bench {

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

} // namespace bench
