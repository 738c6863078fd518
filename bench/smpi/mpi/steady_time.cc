// Time and waiting in a simulation (replaces bench/src/mpi/steady_time.cc): all times are simulated.
#include "mpi/steady_time.h"

#include <cmath>
#include <fmt/format.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>

namespace bench {

double steady_time() { return simgrid_get_clock(); }

void sleep_for(double seconds) {
    if (seconds > 0.0) {
        sg_actor_sleep_for(seconds);
    }
}

void give_way() {
    constexpr double poll_seconds = 100e-9;
    sg_actor_sleep_for(poll_seconds);
}

double true_time() { return simgrid_get_clock(); }

long unsteered_nanoseconds() { return std::lround(simgrid_get_clock() * 1e9); }

void work_until(long time, const std::function<void()> &) {
    if (unsteered_nanoseconds() < time) {
        sg_actor_sleep_until(static_cast<double>(time) * 1e-9);
    }
}

std::string platform_model() {
    const simgrid::s4u::Engine &engine = *simgrid::s4u::Engine::get_instance();
    const simgrid::s4u::NetZone &zone = *engine.get_netzone_root();
    const char *text = zone.get_property("simulated"); // set in bench/smpi/platform.cc
    return text != nullptr ? text
                           : fmt::format("SimGrid platform {}, {} hosts", zone.get_name(), engine.get_host_count());
}

} // namespace bench
