#include "operations/unsteered_clock.h"

#include <cmath>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

namespace bench {

long unsteered_nanoseconds() { return std::lround(simgrid_get_clock() * 1e9); }

void work_until(long time, const std::function<void()> &) {
    if (unsteered_nanoseconds() < time) {
        sg_actor_sleep_until(static_cast<double>(time) * 1e-9);
    }
}

} // namespace bench
