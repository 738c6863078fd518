#include "experiments/machine.h"

#include "text/error.h"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <hwloc.h>
#include <limits>
#include <memory>
#include <sched.h>
#include <type_traits>

namespace bench {
namespace {

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

void check_hwloc(int code, const char *call) {
    if (code < 0) {
        throw Error::here(fmt::format("{} failed", call));
    }
}

Topology load_topology() {
    hwloc_topology_t topology = nullptr;
    check_hwloc(hwloc_topology_init(&topology), "hwloc_topology_init");
    Topology owner(topology);
    check_hwloc(hwloc_topology_load(topology), "hwloc_topology_load");
    return owner;
}

std::string to_list(hwloc_const_bitmap_t bitmap) {
    char *text = nullptr;
    check_hwloc(hwloc_bitmap_list_asprintf(&text, bitmap), "hwloc_bitmap_list_asprintf");
    const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
    return text;
}

std::string cpu_model(hwloc_topology_t topology) {
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
    return model == nullptr ? "unknown" : model;
}

} // namespace

Binding read_binding() {
    const Topology topology = load_topology();
    const Bitmap set(hwloc_bitmap_alloc());
    check_hwloc(hwloc_get_cpubind(topology.get(), set.get(), HWLOC_CPUBIND_PROCESS), "hwloc_get_cpubind");
    return {to_list(set.get()), hwloc_get_nbobjs_inside_cpuset_by_type(topology.get(), set.get(), HWLOC_OBJ_CORE),
            cpu_model(topology.get())};
}

int count_processors(const std::vector<std::string> &cpusets) {
    const Bitmap all(hwloc_bitmap_alloc());
    const Bitmap one(hwloc_bitmap_alloc());
    for (const std::string &cpuset : cpusets) {
        check_hwloc(hwloc_bitmap_list_sscanf(one.get(), cpuset.c_str()), "hwloc_bitmap_list_sscanf");
        check_hwloc(hwloc_bitmap_or(all.get(), all.get(), one.get()), "hwloc_bitmap_or");
    }
    return hwloc_bitmap_weight(all.get());
}

double read_load() {
    double load = 0.0;
    return getloadavg(&load, 1) == 1 ? load : std::numeric_limits<double>::quiet_NaN();
}

std::string read_governor() {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", sched_getcpu()));
    std::string governor;
    return file >> governor ? governor : "unknown";
}

std::string read_virtual_machine() {
#if defined(__x86_64__) || defined(__i386__)
    // CPUID leaf 1, ECX bit 31, as the kernel lists it.
    std::ifstream file("/proc/cpuinfo");
    for (std::string word; file >> word;) {
        if (word == "hypervisor") {
            return "yes";
        }
    }
    return file.eof() ? "no" : "unknown";
#else
    return "unknown";
#endif
}

} // namespace bench
