#pragma once

#include <span>

namespace bench {

/// The step in which a counter advances, by differences of its readings, in ticks: a processor's counter may rise by
/// tens of ticks at a time, give or take one. 1 where any number of ticks may pass, 0 where none ever did.
double step_of(std::span<const double> differences);

} // namespace bench
