// The machine in a simulation (replaces bench/src/experiments/machine.cc): each rank has a processor, and no other
// process disturbs it.
#include "experiments/subcommand.h"

namespace bench {

Binding read_binding() { return {"", 1, "simulated"}; }

int count_processors(const std::vector<std::string> &cpusets) { return static_cast<int>(cpusets.size()); }

double read_load() { return 0.0; }

std::string read_governor() { return "unknown"; }

std::string read_virtual_machine() { return "no"; }

ActivityWatch::ActivityWatch() : start_(read()) {}

ActivityWatch::Reading ActivityWatch::read() { return {}; }

std::vector<OthersActivity> ActivityWatch::finish(const Communicator &) const { return {}; }

} // namespace bench
