#pragma once

#include <functional>
#include <string>

namespace bench {

/// Seconds since some instant, simulated ones in a simulation. For long periods, not for stamps.
double steady_time();

/// Sleeps for `seconds` of it; returns at once if they are negative.
void sleep_for(double seconds);

/// Yields the processor; in a simulation, where polling takes no time, lets some pass.
void give_way();

/// True time in seconds, known only in a simulation; else NaN.
double true_time();

/// CLOCK_MONOTONIC_RAW in ns: the same for all ranks of a host. NTP does not steer it (it may change a rate by 10 %),
/// so its durations agree with those of the library's clock, which is another one. Simulated time in a simulation.
long unsteered_nanoseconds();

/// Works until that clock reads `time`; in a simulation it only waits that long, since work takes no simulated time.
void work_until(long time, const std::function<void()> &work);

/// The simulated platform: "fat-tree(nodes=1024,...)" as `downbeat run --simulate` writes it, or the
/// name of another platform of SimGrid; "" on a machine.
std::string simulated_platform();

} // namespace bench
