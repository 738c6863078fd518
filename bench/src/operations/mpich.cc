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

/// MPICH 4.0 writes its descriptions without line breaks, so that the word before a name sticks to it:
/// "algorithmsmp - Force smp algorithmdissemination - ...".
std::string without_sticking_word(const std::string &token) {
    for (const char *family : {"sched_", "tsp_"}) { // nonblocking algorithms begin so
        if (const std::size_t at = token.find(family); at != std::string::npos) {
            return token.substr(at);
        }
    }
    for (const char *word : {"algorithm", "Tree", "Allgather"}) {
        if (token.starts_with(word)) {
            return token.substr(std::string(word).size());
        }
    }
    return token;
}

/// The values of a variable by their numbers: its description lists them in that order, each as "name - meaning".
std::vector<std::string> described_values(const ControlVariable &variable) {
    const std::string &text = variable.description();
    const bool lines = text.find('\n') != std::string::npos;
    return mapped(match_groups(text, "([A-Za-z0-9_]+) +- "), [&](const std::vector<std::string> &groups) {
        return lines ? groups[0] : without_sticking_word(groups[0]);
    });
}

int number_of(const ControlVariable &variable, const std::string &value) {
    const std::vector<std::string> values = described_values(variable);
    const auto match = std::ranges::find(values, value);
    if (match == values.end()) {
        throw Error::here(fmt::format("the description of {} lists no value {}", variable.name(), value));
    }
    return static_cast<int>(match - values.begin());
}

bool has_nodes_of_several(const Communicator &comm) {
    const std::vector<int> nodes = number_nodes(comm);
    const auto count = std::set<int>(nodes.begin(), nodes.end()).size();
    return count > 1 && count < nodes.size();
}

/// The variables hold for the process and are read in every call.
class SetAroundBlocks : public AlgorithmInForce {
public:
    SetAroundBlocks(const Communicator &comm, const ControlVariable &algorithm, int number,
                    const ControlVariable &device, const std::string &evidence)
        : AlgorithmInForce(comm.handle(), evidence), fallback_(ControlVariable::get(fallback_name)),
          error_(number_of(fallback_, "error")), changes_({{algorithm, number, 0}, {device, 0, 0}}) {}

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
    struct Change {
        ControlVariable variable;
        int value;
        int before;
    };

    ControlVariable fallback_;
    int error_;
    int fallback_before_ = 0;
    std::vector<Change> changes_;
};

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
        if (collective.name == "barrier" && algorithm.name == "smp" && !has_nodes_of_several(comm)) {
            throw Error::usage("MPICH crashes when barrier algorithm smp runs on one node, or with one rank per "
                               "node; choose another one");
        }
        const ControlVariable own_device = ControlVariable::get(device_variable(collective.variable));
        const ControlVariable variable = ControlVariable::get(collective.variable);
        return std::make_unique<SetAroundBlocks>(
            comm, variable, algorithm.number, own_device,
            fmt::format("set before each block and read back: {}={}, {}=0; tried with {}=error", variable.name(),
                        algorithm.number, own_device.name(), fallback_name));
    }

private:
    static std::string device_variable(const std::string &variable) {
        return variable.substr(0, variable.size() - std::string(suffix).size()) + "_DEVICE_COLLECTIVE";
    }

    void add(const std::string &name) {
        // Variables of a device's own algorithms, e.g. MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM, have no such companion.
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
    return {[](const AlgorithmRequests &) {},
            []() -> std::unique_ptr<AlgorithmFamily> {
                if (!ControlVariable::find(fallback_name) ||
                    !ControlVariable::find("MPIR_CVAR_BCAST_INTRA_ALGORITHM")) {
                    return nullptr;
                }
                return std::make_unique<Mpich>();
            }};
}

} // namespace bench
