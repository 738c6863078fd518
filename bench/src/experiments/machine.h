#pragma once

#include "mpi/communicator.h"
#include "output/context.h"

#include <string>
#include <vector>

namespace bench {

/// Where the calling process may run.
struct Binding {
    std::string cpuset;    // processors by the operating system's numbers, e.g. "0-3,8"
    int cores;             // with at least one of them
    std::string cpu_model; // "unknown" if the kernel does not say
};
Binding read_binding();

/// The number of processors in the union of sets such as Binding::cpuset.
int count_processors(const std::vector<std::string> &cpusets);

/// One-minute load average; NaN if the system does not say.
double read_load();

/// The cpufreq governor of the processor that the caller runs on; "unknown" if the kernel does not say.
std::string read_governor();

/// Whether the processor reports a hypervisor: "yes", "no", or "unknown" where processors do not report it.
std::string read_virtual_machine();

/// Records the activity of all hosts' processors during the measurement. The load average is not enough: it averages
/// over a minute, so a machine that has just finished compiling looks busy.
class ActivityWatch {
public:
    /// Starts.
    ActivityWatch();

    /// Collective. Per host, since the start, at rank 0; no entry for a host whose system does not say.
    std::vector<OthersActivity> finish(const Communicator &comm) const;

private:
    struct Reading {
        double wall; // seconds
        double own;  // processor seconds of this process
        double host; // processor seconds of the host that were not idle; NaN if the system does not say
    };
    static Reading read();

    Reading start_;
};

} // namespace bench
