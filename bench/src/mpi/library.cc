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

/// From the lines with which Open MPI describes it ("mca:coll:tuned:param:NAME:value:1", ...); no name if it has its
/// default, or was set by this program.
DescribedVariable described_variable(const std::vector<std::string> &lines) {
    // The value may contain colons, and is quoted then.
    static const std::regex field("mca:[^:]*:[^:]*:param:([^:]+):(value|source|synonym_of):(.*)");
    if (std::ranges::any_of(lines, [](const std::string &line) { return line.ends_with(":source:default"); })) {
        return {}; // nearly all
    }
    DescribedVariable found;
    for (const std::string &line : lines) {
        std::smatch match;
        if (!std::regex_match(line, match, field)) {
            continue;
        }
        if (match[2] == "synonym_of") {
            return {};
        }
        found.name = match[1];
        (match[2] == "value" ? found.value : found.source) = match[3];
    }
    if (found.value.size() > 1 && found.value.starts_with('"') && found.value.ends_with('"')) {
        found.value = found.value.substr(1, found.value.size() - 2);
    }
    return found.source.starts_with("set") ? DescribedVariable{} : found;
}

/// Open MPI knows where each value is from, and MPI_T has no place for it. ompi_info prints it with these functions of
/// libopen-pal (opal/mca/base/mca_base_var.h), which 4.1 and 5 export.
std::vector<DescribedVariable> ask_open_mpi() {
    using Count = int();
    using Dump = int(int index, char ***lines, int kind);
    constexpr int parsable = 1; // MCA_BASE_VAR_DUMP_PARSABLE
    auto *const count = reinterpret_cast<Count *>(dlsym(RTLD_DEFAULT, "mca_base_var_get_count")); // NOLINT
    auto *const dump = reinterpret_cast<Dump *>(dlsym(RTLD_DEFAULT, "mca_base_var_dump"));        // NOLINT
    std::vector<DescribedVariable> found;
    for (int i = 0; count != nullptr && dump != nullptr && i < count(); ++i) {
        char **text = nullptr;
        if (dump(i, &text, parsable) != 0 || text == nullptr) {
            continue; // of a component that was closed
        }
        std::vector<std::string> lines;
        for (char **line = text; *line != nullptr; ++line) {
            lines.emplace_back(*line);
            std::free(*line);
        }
        std::free(static_cast<void *>(text));
        if (DescribedVariable one = described_variable(lines); !one.name.empty()) {
            found.push_back(std::move(one));
        }
    }
    return found;
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
    for (const auto &[variable, value, source] : ask_open_mpi()) {
        const std::string name = open_mpi + variable;
        const bool of_file = source.starts_with("file (") && source.ends_with(')');
        const std::string place = of_file ? source.substr(6, source.size() - 7) : source;
        settings[name] = {name, printable(value), place == "environment" ? "" : place};
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
