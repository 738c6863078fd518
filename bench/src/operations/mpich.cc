// The algorithms of MPICH. Their names are in the descriptions of control variables MPIR_CVAR_..._INTRA_ALGORITHM.
// MPICH reads these variables in every call.
#include "mpi/communicator.h"
#include "mpi/mpi_tool.h"
#include "operations/algorithm.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>

namespace bench {
namespace {

constexpr const char *prefix = "MPIR_CVAR_";
constexpr const char *suffix = "_INTRA_ALGORITHM";
constexpr const char *fallback_name = "MPIR_CVAR_COLLECTIVE_FALLBACK";
constexpr const char *device_name = "MPIR_CVAR_DEVICE_COLLECTIVES";
constexpr int device_off = 0; // value of a collective's ..._DEVICE_COLLECTIVE

/// Removes the word before a name. MPICH 4.0 omits line breaks in its descriptions, so that names are joined to the
/// last word before them: "algorithmsmp - Force smp algorithmdissemination - ...".
std::string without_joined_word(const std::string &token) {
    for (const char *family : {"sched_", "tsp_"}) { // names of nonblocking algorithms begin with these
        if (const std::size_t at = token.find(family); at != std::string::npos) {
            return token.substr(at);
        }
    }
    for (const char *word : {"algorithm", "Tree", "Allgather"}) { // last words of MPICH 4.0's explanations
        if (token.starts_with(word)) {
            return token.substr(std::string(word).size());
        }
    }
    return token;
}

/// The names of a variable's values; the index is the value's number. The description lists them as "name - meaning".
std::vector<std::string> described_values(const ControlVariable &variable) {
    const std::string &text = variable.description();
    const bool lines = text.find('\n') != std::string::npos;
    return mapped(match_groups(text, "([A-Za-z0-9_]+) +- "), [&](const std::vector<std::string> &groups) {
        return lines ? groups[0] : without_joined_word(groups[0]);
    });
}

/// The number of a value of a variable.
int number_of(const ControlVariable &variable, const std::string &value) {
    const std::vector<std::string> values = described_values(variable);
    const auto match = std::ranges::find(values, value);
    if (match == values.end()) {
        throw Error::here(fmt::format("the description of {} lists no value {}", variable.name(), value));
    }
    return static_cast<int>(match - values.begin());
}

/// Collective. True if there are several nodes, and at least one of them has several ranks.
bool has_several_nodes_with_several_ranks(const Communicator &comm) {
    const std::vector<int> nodes = number_nodes(comm);
    const auto count = std::set<int>(nodes.begin(), nodes.end()).size();
    return count > 1 && count < nodes.size();
}

/// Sets MPICH's variables before a block of calls and restores them afterwards. The variables apply to all
/// communicators.
class SetAroundBlocks : public AlgorithmInForce {
public:
    SetAroundBlocks(const Communicator &comm, const ControlVariable &algorithm, int number,
                    const ControlVariable &device, const std::string &evidence)
        : AlgorithmInForce(comm.handle(), evidence), fallback_(ControlVariable::get(fallback_name)),
          error_(number_of(fallback_, "error")), changes_({{algorithm, number, 0}, {device, device_off, 0}}) {}

    void enter(bool strict) override {
        fallback_before_ = fallback_.read();
        if (strict) {
            fallback_.write(error_);
        }
        for (Change &change : changes_) {
            change.before = change.variable.read();
            change.variable.write(change.value);
        }
    }

    void leave() override {
        for (const Change &change : changes_) {
            change.variable.write(change.before);
        }
        fallback_.write(fallback_before_);
    }

private:
    /// A control variable that is set while the algorithm is chosen.
    struct Change {
        ControlVariable variable;
        int value;  // while the algorithm is chosen
        int before; // value to restore
    };

    ControlVariable fallback_; // what MPICH does if an algorithm does not support a call
    int error_;                // its value for "return an error"
    int fallback_before_ = 0;  // its value to restore
    std::vector<Change> changes_;
};

/// The algorithms of MPICH, chosen by control variables.
class Mpich : public AlgorithmFamily {
public:
    Mpich() {
        for (const std::string &name : control_variable_names()) {
            if (name.starts_with(prefix) && name.ends_with(suffix)) {
                add(name);
            }
        }
    }

    bool chosen_per_communicator(const SelectableCollective &) const override { return false; }
    bool switchable(const SelectableCollective &) const override { return true; }

    std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                             const Algorithm &algorithm) const override {
        // A device may implement a collective itself and ignore the choice.
        const ControlVariable device = ControlVariable::get(device_name);
        if (device.read() == number_of(device, "all")) {
            throw Error::usage(fmt::format(
                "MPICH would ignore algorithm {} of {}: {} is all; set it to none, or to percoll (the default)",
                algorithm.name, collective.name, device_name));
        }
        if (collective.name == "barrier" && algorithm.name == "smp" && !has_several_nodes_with_several_ranks(comm)) {
            throw Error::usage("MPICH crashes when barrier algorithm smp runs on one node, or with one rank per "
                               "node; choose another one");
        }
        const ControlVariable collective_device = ControlVariable::get(device_variable(collective.variable));
        const ControlVariable variable = ControlVariable::get(collective.variable);
        return std::make_unique<SetAroundBlocks>(
            comm, variable, algorithm.number, collective_device,
            fmt::format("set before each block and read back: {}={}, {}=0; tried with {}=error", variable.name(),
                        algorithm.number, collective_device.name(), fallback_name));
    }

private:
    /// The variable that decides whether a device implements the collective of an algorithm variable.
    static std::string device_variable(const std::string &variable) {
        return variable.substr(0, variable.size() - std::string(suffix).size()) + "_DEVICE_COLLECTIVE";
    }

    /// Adds the collective of a control variable, with the algorithms in the variable's description.
    void add(const std::string &name) {
        // Algorithms of a device, e.g. of MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM, are skipped: they have no
        // ..._DEVICE_COLLECTIVE variable.
        const auto variable = ControlVariable::find(name);
        if (!variable || !ControlVariable::find(device_variable(name))) {
            return;
        }
        const std::size_t begin = std::string(prefix).size();
        SelectableCollective collective{name.substr(begin, name.size() - begin - std::string(suffix).size()), name, {}};
        std::ranges::transform(collective.name, collective.name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const std::vector<std::string> values = described_values(*variable);
        for (std::size_t i = 1; i < values.size(); ++i) { // the first is auto
            collective.algorithms.push_back({values[i], static_cast<int>(i)});
        }
        collectives_.push_back(collective);
    }
};

} // namespace

AlgorithmFamilyInfo algorithm_families::mpich() {
    return {[](const AlgorithmRequests &) {}, // nothing to do before MPI_Init
            []() -> std::unique_ptr<AlgorithmFamily> {
                if (!ControlVariable::find(fallback_name) ||
                    !ControlVariable::find("MPIR_CVAR_BCAST_INTRA_ALGORITHM")) {
                    return nullptr;
                }
                return std::make_unique<Mpich>();
            }};
}

} // namespace bench
