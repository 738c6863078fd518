#include "mpi/simulation.h"

#include <fmt/format.h>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>

namespace bench {

std::string simulated_platform() {
    const simgrid::s4u::Engine &engine = *simgrid::s4u::Engine::get_instance();
    const simgrid::s4u::NetZone &zone = *engine.get_netzone_root();
    const char *own = zone.get_property("simulated"); // of bench/smpi/platform.cc
    return own != nullptr ? own
                          : fmt::format("SimGrid platform {}, {} hosts", zone.get_name(), engine.get_host_count());
}

} // namespace bench
