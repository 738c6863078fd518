#pragma once

namespace bench {

/// Seconds that pass, from some instant on; in a simulation, simulated ones. For what takes long, not for stamps.
double steady_time();

/// Sleeps so many seconds of it; not at all where they are negative.
void sleep_for(double seconds);

/// Lets others have the processor; in a simulation, where looking takes no time, lets some pass.
void give_way();

/// True time in seconds, which no clock of a rank is ahead or behind of: known in a simulation alone, else NaN.
double true_time();

} // namespace bench
