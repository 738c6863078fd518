#include "mpi/steady_time.h"

#include <cmath>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

namespace bench {

double steady_time() { return simgrid_get_clock(); }

void sleep_for(double seconds) {
    if (seconds > 0.0) {
        sg_actor_sleep_for(seconds);
    }
}

void give_way() {
    constexpr double moment = 100e-9;
    sg_actor_sleep_for(moment);
}

double true_time() { return simgrid_get_clock(); }

long unsteered_nanoseconds() { return std::lround(simgrid_get_clock() * 1e9); }

void work_until(long time, const std::function<void()> &) {
    if (unsteered_nanoseconds() < time) {
        sg_actor_sleep_until(static_cast<double>(time) * 1e-9);
    }
}

} // namespace bench
