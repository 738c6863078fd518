// Properties of the machine for the context of results: processors of a rank, cores, load, governor, CPU model, virtual
// machine, and the activity of other processes. In a simulation, bench/smpi/experiments/machine.cc replaces this file.
#include "experiments/subcommand.h"

#include "mpi/library.h"
#include "text/error.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <map>
#include <sched.h>
#include <set>
#include <sstream>
#include <system_error>
#include <unistd.h>

namespace bench {
namespace {

/// The processors that the process may run on. Tries larger sets than cpu_set_t if the kernel has more processors.
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
        // EINVAL: the set is too small. A million processors are more than Linux supports.
        if (errno != EINVAL || capacity > CPU_SETSIZE * 1024) {
            throw Error::here(fmt::format("sched_getaffinity failed: {}", std::generic_category().message(errno)));
        }
    }
}

/// Writes processors as a list: "0-3,8".
std::string to_list(const std::set<int> &processors) {
    std::string text;
    for (auto next = processors.begin(); next != processors.end();) {
        const int first = *next;
        int last = first;
        for (++next; next != processors.end() && *next == last + 1; ++next) {
            last = *next;
        }
        text += fmt::format("{}{}{}", text.empty() ? "" : ",", first, last > first ? fmt::format("-{}", last) : "");
    }
    return text;
}

/// Parses a list of processors: "0-3,8".
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

/// The number of cores of the processors, which are hardware threads. A processor whose core the kernel does not report
/// counts as a core.
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

/// Busy time of all processors of the host since its boot, s; NaN if unknown. From the first line of /proc/stat
/// (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal, without idle and iowait. Steal is time that a
/// hypervisor gave to other machines. Guest times are part of user.
double read_busy_seconds() {
    std::ifstream file("/proc/stat");
    std::string label;
    file >> label;
    double ticks = 0.0;
    constexpr int idle = 3; // position
    constexpr int iowait = 4;
    constexpr int fields = 8;
    for (int field = 0; field < fields; ++field) {
        double value = 0.0;
        file >> value;
        ticks += field == idle || field == iowait ? 0.0 : value;
    }
    return file ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : std::numeric_limits<double>::quiet_NaN();
}

/// Processor time of this process, s.
double read_process_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace

Binding read_binding() {
    const std::set<int> processors = read_affinity();
    return {to_list(processors), count_cores(processors), read_cpu_model()};
}

int count_processors(const std::vector<std::string> &cpusets) {
    std::set<int> united;
    for (const std::string &cpuset : cpusets) {
        united.merge(parse_list(cpuset));
    }
    return static_cast<int>(united.size());
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
    // The kernel's name of bit 31 of ECX of CPUID leaf 1.
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

ActivityWatch::ActivityWatch() : start_(read()) {}

ActivityWatch::Reading ActivityWatch::read() {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
    return {wall.count(), read_process_seconds(), read_busy_seconds()};
}

std::vector<OthersActivity> ActivityWatch::finish(const Communicator &comm) const {
    const Reading now = read();
    const std::vector<std::string> hosts = comm.gather(host_name());
    const auto readings =
        comm.gather(std::array{now.wall - start_.wall, now.process - start_.process, now.host - start_.host,
                               static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN))});

    // Busy time of each host, read by its first rank, minus the time of its ranks.
    std::map<std::string, double> busy_by_others;
    std::map<std::string, double> period;     // s
    std::map<std::string, double> processors; // number of processors that are online
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto &[wall, process, busy, online] = readings[rank];
        if (period.emplace(hosts[rank], wall).second) {
            busy_by_others[hosts[rank]] = busy;
            processors[hosts[rank]] = online;
        }
        busy_by_others[hosts[rank]] -= process;
    }
    std::vector<OthersActivity> activities;
    for (const auto &[host, seconds] : busy_by_others) {
        if (const auto busy = busy_processors(seconds, period[host], processors[host])) { // empty: unknown
            activities.push_back({host, *busy});
        }
    }
    return activities;
}

} // namespace bench
