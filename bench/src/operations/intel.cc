// The algorithms of Intel MPI. It numbers its algorithms without names, and reads the numbers from the environment in
// MPI_Init only.
#include "mpi/mpi_tool.h"
#include "operations/algorithm.h"
#include "rules/cell.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *prefix = "MPIR_CVAR_USE_";
constexpr const char *environment_prefix = "I_MPI_ADJUST_";

std::string environment_variable(const std::string &collective) {
    std::string name = environment_prefix + collective;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return name;
}

/// The numbers of algorithms are in the descriptions of control variables; the names of algorithms are their numbers.
class Intel : public AlgorithmFamily {
public:
    Intel() {
        // "... presets.$ Arguments$ <presetid> - Preset identifier$ range: 0-11 @Alias:# I_MPI_ADJUST_BARRIER ..."
        const std::string range = "<presetid>.*range: *[0-9]+-([0-9]+) .*@Alias:# *I_MPI_ADJUST_([A-Z_]+) ";
        for (const std::string &name : control_variable_names()) {
            const auto variable = name.starts_with(prefix) ? ControlVariable::find(name) : std::nullopt;
            const auto matches =
                variable ? match_groups(variable->description(), range) : std::vector<std::vector<std::string>>{};
            if (matches.empty()) {
                continue;
            }
            const std::vector<std::string> &match = matches.front();
            SelectableCollective collective{match[1], name, {}};
            std::ranges::transform(collective.name, collective.name.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            // 0 of the range is the library's own choice.
            for (int number = 1; number <= std::stoi(match[0]); ++number) {
                collective.algorithms.push_back({fmt::format("{}", number), number});
            }
            collectives_.push_back(collective);
        }
    }

    bool chosen_per_communicator(const SelectableCollective &) const override { return false; }
    bool switchable(const SelectableCollective &) const override { return false; }

    std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                             const Algorithm &algorithm) const override {
        const std::string variable = environment_variable(collective.name);
        const char *const value = std::getenv(variable.c_str());
        if (value == nullptr || value != algorithm.name) { // the user had set it, so before_init did not change it
            throw Error::usage(fmt::format("{} is '{}' in the environment, not {}; unset it", variable,
                                           value == nullptr ? "" : value, algorithm.name));
        }
        return std::make_unique<AlgorithmInForce>(
            comm.handle(), fmt::format("set before MPI_Init: {}={}; Intel MPI does not report whether it is in force",
                                       variable, algorithm.name));
    }
};

} // namespace

AlgorithmFamilyInfo algorithm_families::intel() {
    return {[](const AlgorithmRequests &requests) {
                for (const auto &[collective, algorithms] : requests) {
                    if (algorithms.size() == 1 && algorithms.front() != default_algorithm) {
                        set_unless_set(environment_variable(collective), algorithms.front());
                    }
                }
            },
            []() -> std::unique_ptr<AlgorithmFamily> {
                if (!ControlVariable::find("MPIR_CVAR_USE_BARRIER")) {
                    return nullptr;
                }
                return std::make_unique<Intel>();
            }};
}

} // namespace bench
