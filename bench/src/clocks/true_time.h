#pragma once

namespace bench {

/// True time in seconds, which no clock of a rank is ahead or behind of: known in a simulation alone, else NaN.
double true_time();

} // namespace bench
