#include "part_option.h"

#include "error.h"

#include <downbeat/clock.h>
#include <fmt/format.h>
#include <mpi.h>

namespace bench {

void check_part(const std::string &option, const char *kind, const std::string &text) {
    char message[DOWNBEAT_MAX_MESSAGE] = "";
    if (Downbeat_check(kind, text.c_str(), message) != MPI_SUCCESS) {
        throw Error::usage(fmt::format("{} cannot be '{}': {}", option, text, message));
    }
}

std::vector<std::string> part_names(const char *kind) {
    std::vector<std::string> names;
    for (const Downbeat_part *const *part = Downbeat_parts(kind); *part != nullptr; ++part) {
        names.emplace_back((*part)->name);
    }
    return names;
}

} // namespace bench
