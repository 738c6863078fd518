#include "mpi/component_option.h"

#include "text/error.h"

#include <downbeat/clock.h>
#include <fmt/format.h>
#include <mpi.h>

namespace bench {

void check_component(const std::string &option, const char *kind, const std::string &text) {
    char message[DOWNBEAT_MAX_MESSAGE] = "";
    if (Downbeat_check(kind, text.c_str(), message) != MPI_SUCCESS) {
        throw Error::usage(fmt::format("{} cannot be '{}': {}", option, text, message));
    }
}

std::vector<std::string> component_names(const char *kind) {
    std::vector<std::string> names;
    for (const Downbeat_component *const *component = Downbeat_components(kind); *component != nullptr; ++component) {
        names.emplace_back((*component)->name);
    }
    return names;
}

} // namespace bench
