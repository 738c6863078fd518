// Reads the version of the MPI library and all settings that are not defaults (library.h).
#include "mpi/library.h"

#include "mpi/communicator.h"
#include "text/words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <string_view>
#include <unistd.h>

namespace bench {
namespace {

constexpr const char *open_mpi = "OMPI_MCA_";

/// A variable of Open MPI. `source`: "environment", "file (/path:1)", ...
struct DescribedVariable {
    std::string name;
    std::string value;
    std::string source;
};

/// Parses Open MPI's description of a variable ("mca:coll:tuned:param:NAME:value:1", ...). The name is empty if the
/// variable has its default value, is a synonym, or was set by this program.
DescribedVariable parse_description(const std::vector<std::string> &lines) {
    // A value that contains colons is quoted.
    static const std::regex field("mca:[^:]*:[^:]*:param:([^:]+):(value|source|synonym_of):(.*)");
    if (std::ranges::any_of(lines, [](const std::string &line) { return line.ends_with(":source:default"); })) {
        return {}; // first, because it holds for nearly all variables
    }
    DescribedVariable variable;
    for (const std::string &line : lines) {
        std::smatch match;
        if (!std::regex_match(line, match, field)) {
            continue;
        }
        if (match[2] == "synonym_of") {
            return {};
        }
        variable.name = match[1];
        (match[2] == "value" ? variable.value : variable.source) = match[3];
    }
    if (variable.value.size() > 1 && variable.value.starts_with('"') && variable.value.ends_with('"')) {
        variable.value = variable.value.substr(1, variable.value.size() - 2);
    }
    // "set": the program has set the variable, e.g. by MPI_T.
    return variable.source.starts_with("set") ? DescribedVariable{} : variable;
}

/// The variables of Open MPI that are not defaults, with their sources; empty with another MPI library. MPI_T does not
/// report sources, so this calls the functions of libopen-pal that ompi_info uses (opal/mca/base/mca_base_var.h); Open
/// MPI 4.1 and 5 export them.
std::vector<DescribedVariable> open_mpi_variables() {
    using Count = int();
    using Dump = int(int index, char ***lines, int kind);
    constexpr int parsable = 1; // MCA_BASE_VAR_DUMP_PARSABLE
    auto *const count = reinterpret_cast<Count *>(dlsym(RTLD_DEFAULT, "mca_base_var_get_count")); // NOLINT
    auto *const dump = reinterpret_cast<Dump *>(dlsym(RTLD_DEFAULT, "mca_base_var_dump"));        // NOLINT
    std::vector<DescribedVariable> variables;
    for (int i = 0; count != nullptr && dump != nullptr && i < count(); ++i) {
        char **text = nullptr;
        if (dump(i, &text, parsable) != 0 || text == nullptr) {
            continue; // belongs to a component that was closed
        }
        std::vector<std::string> lines;
        for (char **line = text; *line != nullptr; ++line) {
            lines.emplace_back(*line);
            std::free(*line);
        }
        std::free(static_cast<void *>(text));
        if (DescribedVariable variable = parse_description(lines); !variable.name.empty()) {
            variables.push_back(std::move(variable));
        }
    }
    return variables;
}

} // namespace

std::vector<Setting> find_settings() {
    constexpr std::string_view prefixes[] = {"DOWNBEAT_", open_mpi, "MPIR_CVAR_", "MPICH_", "I_MPI_",
                                             "UCX_",      "FI_",    "HCOLL_",     "UCC_"};
    std::map<std::string, Setting> settings;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); })) {
            const std::size_t equals = text.find('=');
            const std::string name = printable(text.substr(0, equals));
            settings[name] = {name, printable(text.substr(equals + 1)), ""};
        }
    }
    // Open MPI knows more than the environment: values from files, and the value that counts if there are several.
    for (const auto &[variable, value, source] : open_mpi_variables()) {
        const std::string name = open_mpi + variable;
        const bool is_file = source.starts_with("file (") && source.ends_with(')');
        const std::string path = is_file ? source.substr(6, source.size() - 7) : source;
        settings[name] = {name, printable(value), path == "environment" ? "" : path};
    }
    return mapped(settings, [](const auto &setting) { return setting.second; });
}

std::string host_name() {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    return printable({name, static_cast<std::size_t>(length)});
}

std::string mpi_library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    std::string version(text.data(), static_cast<std::size_t>(length));
    version.erase(version.find_last_not_of(std::string_view(" \t\n\0", 4)) + 1);
    return version;
}

std::string mpi_standard() {
    int version = 0;
    int subversion = 0;
    check(MPI_Get_version(&version, &subversion), "MPI_Get_version");
    return fmt::format("{}.{}", version, subversion);
}

} // namespace bench
