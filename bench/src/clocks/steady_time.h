#pragma once

#include <functional>

namespace bench {

/// Seconds that pass, from some instant on; in a simulation, simulated ones. For what takes long, not for stamps.
double steady_time();

/// Sleeps so many seconds of it; not at all where they are negative.
void sleep_for(double seconds);

/// Lets others have the processor; in a simulation, where looking takes no time, lets some pass.
void give_way();

/// True time in seconds, which no clock of a rank is ahead or behind of: known in a simulation alone, else NaN.
double true_time();

/// CLOCK_MONOTONIC_RAW in ns: one for all ranks of a host, and its rate is not steered by NTP, which goes as far as 10
/// %. So its durations are those of the library's clock, which is another one. In a simulation simulated time.
long unsteered_nanoseconds();

/// Works until that clock shows `time`; in a simulation it only stays that long, since work takes no simulated time.
void work_until(long time, const std::function<void()> &work);

} // namespace bench
