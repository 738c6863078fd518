#include "clocks/true_time.h"

#include <simgrid/engine.h>

namespace bench {

double true_time() { return simgrid_get_clock(); }

} // namespace bench
