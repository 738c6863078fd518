#include "subcommands/machine.h"

#include "text/error.h"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sched.h>
#include <set>
#include <sstream>
#include <system_error>

namespace bench {
namespace {

/// The processors that the process may run on. The kernel's set may be larger than cpu_set_t.
std::set<int> read_affinity() {
    for (int capacity = CPU_SETSIZE;; capacity *= 2) {
        const std::size_t size = CPU_ALLOC_SIZE(capacity);
        std::vector<unsigned long> words(size / sizeof(unsigned long));
        auto *set = reinterpret_cast<cpu_set_t *>(words.data());
        if (sched_getaffinity(0, size, set) == 0) {
            std::set<int> processors;
            for (int processor = 0; processor < capacity; ++processor) {
                if (CPU_ISSET_S(static_cast<std::size_t>(processor), size, set)) {
                    processors.insert(processor);
                }
            }
            return processors;
        }
        if (errno != EINVAL || capacity > CPU_SETSIZE * 1024) {
            throw Error::here(fmt::format("sched_getaffinity failed: {}", std::generic_category().message(errno)));
        }
    }
}

std::string to_list(const std::set<int> &processors) {
    std::string text;
    for (auto one = processors.begin(); one != processors.end();) {
        const int first = *one;
        int last = first;
        for (++one; one != processors.end() && *one == last + 1; ++one) {
            last = *one;
        }
        text += fmt::format("{}{}{}", text.empty() ? "" : ",", first, last > first ? fmt::format("-{}", last) : "");
    }
    return text;
}

std::set<int> parse_list(const std::string &text) {
    std::set<int> processors;
    std::istringstream ranges(text);
    for (std::string range; std::getline(ranges, range, ',');) {
        const std::size_t dash = range.find('-');
        const int first = std::stoi(range);
        const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
        for (int processor = first; processor <= last; ++processor) {
            processors.insert(processor);
        }
    }
    return processors;
}

/// The kernel lists with each processor the hardware threads of its core. Where it does not, each is its own core.
int count_cores(const std::set<int> &processors) {
    std::set<std::string> cores;
    for (const int processor : processors) {
        std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
        std::string threads;
        cores.insert(file >> threads ? threads : fmt::format("{}", processor));
    }
    return static_cast<int>(cores.size());
}

std::string read_cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        // x86, s390 and RISC-V; ARM in old kernels; POWER.
        if (colon != std::string::npos &&
            (line.starts_with("model name") || line.starts_with("Processor") || line.starts_with("cpu\t"))) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

} // namespace

Binding read_binding() {
    const std::set<int> processors = read_affinity();
    return {to_list(processors), count_cores(processors), read_cpu_model()};
}

int count_processors(const std::vector<std::string> &cpusets) {
    std::set<int> all;
    for (const std::string &cpuset : cpusets) {
        all.merge(parse_list(cpuset));
    }
    return static_cast<int>(all.size());
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
