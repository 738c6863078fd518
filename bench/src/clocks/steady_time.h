#pragma once

#include <functional>

namespace bench {

/// Seconds since some instant, simulated ones in a simulation. For long periods, not for stamps.
double steady_time();

/// Sleeps for `seconds` of it; returns at once if they are negative.
void sleep_for(double seconds);

/// Yields the processor; in a simulation, where polling takes no time, lets some pass.
void give_way();

/// True time in seconds, known only in a simulation; else NaN.
double true_time();

/// CLOCK_MONOTONIC_RAW in ns: one for all ranks of a host, and its rate is not steered by NTP, which goes as far as 10
/// %. So its durations are those of the library's clock, which is another one. In a simulation simulated time.
long unsteered_nanoseconds();

/// Works until that clock shows `time`; in a simulation it only stays that long, since work takes no simulated time.
void work_until(long time, const std::function<void()> &work);

} // namespace bench
