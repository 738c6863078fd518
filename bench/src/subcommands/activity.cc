#include "subcommands/activity.h"

#include "mpi/names.h"

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <limits>
#include <map>
#include <unistd.h>

namespace bench {
namespace {

/// All time but idle and iowait since the boot, from the first line of /proc/stat (proc(5)): user, nice, system, idle,
/// iowait, irq, softirq, steal. Steal is what a hypervisor gave to others. Guest times are contained in user.
double read_busy_seconds() {
    std::ifstream file("/proc/stat");
    std::string label;
    file >> label;
    double ticks = 0.0;
    for (int field = 0; field < 8; ++field) {
        double value = 0.0;
        file >> value;
        ticks += field == 3 || field == 4 ? 0.0 : value;
    }
    return file ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : std::numeric_limits<double>::quiet_NaN();
}

double read_own_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace

ActivityWatch::ActivityWatch() : start_(read()) {}

ActivityWatch::Reading ActivityWatch::read() {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
    return {wall.count(), read_own_seconds(), read_busy_seconds()};
}

std::vector<OthersActivity> ActivityWatch::finish(const Communicator &comm) const {
    const Reading now = read();
    const std::vector<std::string> hosts = comm.gather(host_name());
    const auto readings = comm.gather(std::array{now.wall - start_.wall, now.own - start_.own, now.host - start_.host,
                                                 static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN))});

    // Busy time of each host, as its first rank read it, without that of its ranks.
    std::map<std::string, double> others;
    std::map<std::string, double> period;
    std::map<std::string, double> processors;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto &[wall, own, busy, online] = readings[rank];
        if (period.emplace(hosts[rank], wall).second) {
            others[hosts[rank]] = busy;
            processors[hosts[rank]] = online;
        }
        others[hosts[rank]] -= own;
    }
    std::vector<OthersActivity> activities;
    for (const auto &[host, seconds] : others) {
        if (const auto busy = busy_processors(seconds, period[host], processors[host])) {
            activities.push_back({host, *busy});
        }
    }
    return activities;
}

} // namespace bench
