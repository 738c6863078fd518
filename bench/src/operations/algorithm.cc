// Finds the algorithms of the MPI library that runs (algorithm.h).
#include "operations/algorithm.h"

#include "mpi/mpi_tool.h"
#include "text/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace bench {

std::unique_ptr<AlgorithmFamily> find_algorithm_family() {
    open_tool_interface();
    for (const AlgorithmFamilyInfo &info : all_algorithm_families()) {
        if (auto family = info.find()) {
            return family;
        }
    }
    return nullptr;
}

const SelectableCollective *find_collective(const AlgorithmFamily &family, const std::string &name) {
    const auto &selectable = family.collectives();
    const auto match = std::ranges::find(selectable, name, &SelectableCollective::name);
    return match == selectable.end() ? nullptr : &*match;
}

void set_unless_set(const std::string &variable, const std::string &value) {
    if (setenv(variable.c_str(), value.c_str(), 0) != 0) {
        throw Error::here(fmt::format("setenv of {} failed: {}", variable, std::strerror(errno)));
    }
}

} // namespace bench
