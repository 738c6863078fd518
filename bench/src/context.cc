#include "context.h"

#include <algorithm>

namespace bench {

std::vector<std::pair<std::string, ContextValue>> context_values(const Context &context) {
    return {
        {"downbeat_version", context.version},
        {"git_revision", context.revision},
        {"compiler", context.compiler},
        {"date", context.date},
        {"command_line", context.command_line},
        {"mpi_library", context.mpi_library},
        {"mpi_standard", context.mpi_standard},
        {"error_bound_s", context.error_bound},
        {"repetitions", context.repetitions},
        {"max_attempts", context.max_attempts},
        {"warmup", context.warmup},
        {"root", static_cast<long>(context.root)},
        {"tolerance_s", context.tolerance},
        {"seed", context.seed},
    };
}

std::string clock_setting(const Context &context, const std::string &name) {
    const auto found = std::find_if(context.clock.begin(), context.clock.end(),
                                    [&](const auto &setting) { return setting.first == name; });
    return found == context.clock.end() ? "unknown" : found->second;
}

std::string short_mpi_library(const std::string &version) {
    std::string text;
    for (const char c : version.substr(0, version.find_first_of(",\n"))) {
        const bool space = c == ' ' || c == '\t';
        if (!space) {
            text += c;
        } else if (!text.empty() && text.back() != ' ') {
            text += ' ';
        }
    }
    return text;
}

} // namespace bench
