#pragma once

#include <functional>
#include <string>

namespace bench {

/// Seconds since some instant. For long periods, not for stamps.
double steady_time();

/// Sleeps for `seconds` of it; returns at once if they are negative.
void sleep_for(double seconds);

/// Yields the processor; where polling takes no time (bench/smpi), lets some pass.
void give_way();

/// True time in seconds; NaN on a machine, where nobody knows it.
double true_time();

/// CLOCK_MONOTONIC_RAW in ns: the same for all ranks of a host. NTP does not steer it (it may change a rate by 10 %),
/// so its durations agree with those of the library's clock, which is another one.
long unsteered_nanoseconds();

/// Works until that clock reads `time`; where work takes no time (bench/smpi) it only waits that long.
void work_until(long time, const std::function<void()> &work);

/// The model that stands for the machine, e.g. "fat-tree(nodes=1024,...)" as `downbeat run --simulate` writes it, or
/// the name of another platform; "" on a machine.
std::string platform_model();

/// Whether ranks run on processors: these interrupt them, and a rank that polls takes their time from others.
inline bool has_processors() { return platform_model().empty(); }

} // namespace bench
