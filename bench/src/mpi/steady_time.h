// Time and waiting for everything but stamps: a steady clock, sleeping, yielding, CLOCK_MONOTONIC_RAW. In a simulation,
// bench/smpi/mpi/steady_time.cc replaces the implementation, because only its functions let simulated time pass.
#pragma once

#include <functional>
#include <string>

namespace bench {

/// Time since an arbitrary instant, s. For timeouts and progress, not for stamps.
double steady_time();

/// Sleeps for `seconds`; returns at once if they are negative.
void sleep_for(double seconds);

/// Yields the processor. In a simulation, lets 100 ns pass, since polling itself takes no simulated time.
void give_way();

/// The simulated time, s, without the errors of simulated clocks; NaN on a real machine, where it is unknown.
double true_time();

/// CLOCK_MONOTONIC_RAW in ns; the same clock for all ranks of a host. NTP does not change its rate (it may change the
/// rate of other clocks by 10 %), so its durations agree with those of the library's clock.
long unsteered_nanoseconds();

/// Repeats `work` until unsteered_nanoseconds() reaches `time`. In a simulation, where work takes no time, only waits.
void work_until(long time, const std::function<void()> &work);

/// The simulated platform: the text of `downbeat run --simulate`, e.g. "fat-tree(nodes=1024,...)", or the name of
/// another SimGrid platform. "" on a real machine.
std::string platform_model();

/// True if ranks are simulated. Real processors interrupt ranks, and a rank that polls takes time from other ranks;
/// simulated ranks do neither.
inline bool is_simulated() { return !platform_model().empty(); }

} // namespace bench
