// Computation takes no simulated time, so the loop takes what the host's speed makes of its work, and the interruptions
// are those of the platform's model (bench/smpi/platform.cc).
#include "mpi/processor_check.h"

#include <cstdlib>
#include <simgrid/actor.h>
#include <simgrid/host.h>

namespace bench {
namespace {

constexpr double loop_work = 1e6; // flops

double property(const char *name) {
    const char *value = sg_host_get_property_value(sg_host_self(), name);
    return value == nullptr ? 0.0 : std::strtod(value, nullptr);
}

} // namespace

ProcessorCheck check_processor() {
    const double loop = loop_work / sg_host_get_speed(sg_host_self());
    sg_actor_sleep_for(loop);
    const double share = property("noise");
    return {loop, 0.0, share > 0.0 ? share / property("noise_length") : 0.0, share};
}

} // namespace bench
