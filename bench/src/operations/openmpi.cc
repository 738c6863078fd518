// The algorithms of Open MPI, by control variables of its components coll_tuned (blocking collectives) and coll_libnbc
// (nonblocking collectives). Open MPI assigns components to a communicator when it creates the communicator, by their
// priorities, so a chosen algorithm has a communicator of its own.
#include "mpi/communicator.h"
#include "mpi/library.h"
#include "mpi/mpi_tool.h"
#include "operations/algorithm.h"
#include "rules/cell.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

/// Open MPI's names of collectives; the index is their number (COLLTYPE of ompi/mca/coll/base/coll_base_functions.h).
constexpr const char *collectives[] = {"allgather", "allgatherv", "allreduce", "alltoall",       "alltoallv",
                                       "alltoallw", "barrier",    "bcast",     "exscan",         "gather",
                                       "gatherv",   "reduce",     "scan",      "reduce_scatter", "reduce_scatter_block",
                                       "scatter",   "scatterv"};

/// Reads the numbers of a file and skips comments.
class Numbers {
public:
    explicit Numbers(std::istream &file) {
        for (std::string line; std::getline(file, line);) {
            text_ << line.substr(0, line.find('#')) << '\n';
        }
    }

    long next() {
        long number = 0;
        if (!(text_ >> number)) {
            throw std::invalid_argument("no number");
        }
        return number;
    }

private:
    std::stringstream text_;
};

/// True if a rules file of coll_tuned (version 1) has an algorithm for a collective on this number of ranks. Reads the
/// file like the library does (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c). False for a file that cannot be opened;
/// true for a file with another format, because it may have rules.
bool has_rules(const std::string &path, const std::string &collective, long ranks) {
    std::ifstream file(path);
    if (!file) {
        return false;
    }
    const auto number = std::distance(std::begin(collectives), std::ranges::find(collectives, collective));
    Numbers numbers(file);
    try {
        bool has_algorithm = false;
        for (long entries = numbers.next(); entries > 0; --entries) {
            const bool is_collective = numbers.next() == number;
            const long sizes = numbers.next();
            for (long size = 0; size < sizes; ++size) {
                // The last communicator size that does not exceed `ranks` applies; the first size also applies to fewer
                // ranks.
                const bool applies = (numbers.next() <= ranks) || size == 0;
                bool any = false;
                for (long rules = numbers.next(); rules > 0; --rules) {
                    numbers.next();                   // message size
                    any = numbers.next() != 0 || any; // algorithm; 0: the library's own choice
                    numbers.next();                   // fan in or out
                    numbers.next();                   // segment size
                }
                has_algorithm = is_collective && applies ? any : has_algorithm;
            }
        }
        return has_algorithm;
    } catch (const std::invalid_argument &) {
        return true;
    }
}

constexpr const char *dynamic_rules = "coll_tuned_use_dynamic_rules";
constexpr const char *rules_filename = "coll_tuned_dynamic_rules_filename";
constexpr const char *suffix = "_algorithm";
constexpr const char *components[] = {"coll_tuned_", "coll_libnbc_"}; // blocking and nonblocking collectives
constexpr const char *tuned = components[0];

/// Priorities of components that do not compete: they serve communicators of a single process or intercommunicators, or
/// pass calls on to other components.
const std::vector<std::string> no_rivals = {"coll_self_priority", "coll_inter_priority", "coll_sync_priority"};

/// Priorities of components that have only blocking collectives, so they do not compete with coll_libnbc.
const std::vector<std::string> blocking_only = {"coll_tuned_priority", "coll_basic_priority", "coll_han_priority",
                                                "coll_sm_priority"};

constexpr int library_chooses = 0; // value of an algorithm variable without a choice

// The highest priority that a component of framework coll can have.
constexpr int highest_priority = 100;

/// The collective whose variable is a constant in Open MPI 4.1 and 5. Only the environment can set it.
constexpr const char *constant_collective = "allgatherv";

/// The component of a variable, e.g. "coll_tuned".
std::string component_of(const std::string &variable) {
    return variable.substr(0, variable.find('_', std::string("coll_").size()));
}

/// Sets a variable, and restores its value at the end of the scope.
class TemporaryValue {
public:
    TemporaryValue(const ControlVariable &variable, int value) : variable_(variable), before_(variable.read()) {
        variable_.write(value);
    }
    ~TemporaryValue() noexcept(false) { variable_.write(before_); }
    TemporaryValue(const TemporaryValue &) = delete;
    TemporaryValue &operator=(const TemporaryValue &) = delete;

private:
    const ControlVariable &variable_;
    int before_;
};

/// An algorithm that was chosen when a communicator was duplicated: coll_tuned reads its variables at the creation of a
/// communicator, and keeps their values for this communicator.
class OwnCommunicator : public AlgorithmInForce {
public:
    OwnCommunicator(const Communicator &parent, const std::string &evidence)
        : AlgorithmInForce(MPI_COMM_NULL, evidence) {
        check(MPI_Comm_dup(parent.handle(), &comm_), "MPI_Comm_dup");
    }
    ~OwnCommunicator() override { MPI_Comm_free(&comm_); }
};

/// An algorithm of coll_libnbc, which reads its variables in every call.
class ReadInEveryCall : public OwnCommunicator {
public:
    ReadInEveryCall(const Communicator &parent, const ControlVariable &variable, int number,
                    const std::string &evidence)
        : OwnCommunicator(parent, evidence), variable_(variable), number_(number) {}

    void enter(bool) override {
        before_ = variable_.read();
        variable_.write(number_);
    }
    void leave() override { variable_.write(before_); }

private:
    ControlVariable variable_;
    int number_;
    int before_ = 0;
};

/// The algorithms of coll_tuned and coll_libnbc.
class OpenMpi : public AlgorithmFamily {
public:
    OpenMpi() {
        for (const std::string &name : control_variable_names()) {
            for (const std::string component : components) {
                if (name.starts_with(component) && name.ends_with(suffix)) {
                    add(name, component);
                }
            }
        }
        std::ranges::sort(collectives_, {}, &SelectableCollective::name);
    }

    bool chosen_per_communicator(const SelectableCollective &collective) const override {
        return collective.variable.starts_with(tuned) && switchable(collective);
    }

    bool switchable(const SelectableCollective &collective) const override {
        return ControlVariable::get(collective.variable).writable();
    }

    std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                             const Algorithm &algorithm) const override {
        const ControlVariable variable = ControlVariable::get(collective.variable);
        const std::string component = component_of(collective.variable);
        const ControlVariable priority = ControlVariable::get(component + "_priority");
        // In Open MPI 5, a priority can be changed for the creation of a communicator; in 4.1 it cannot.
        const int level = priority.writable() ? highest_priority : priority.read();
        if (const std::string rival = rival_of(priority, level); !rival.empty()) {
            throw Error::usage(fmt::format("Open MPI may ignore algorithm {} of {}: {} is {}, so a component "
                                           "other than {} serves communicators; set it below {}",
                                           algorithm.name, collective.name, rival, ControlVariable::get(rival).read(),
                                           component, level));
        }
        std::string evidence = fmt::format("{}={}", variable.name(), algorithm.number);
        if (collective.variable.starts_with(tuned)) {
            if (ControlVariable::get(dynamic_rules).read() == 0) {
                throw Error::usage(fmt::format("Open MPI would ignore algorithm {} of {}: {} is 0; unset OMPI_MCA_{}",
                                               algorithm.name, collective.name, dynamic_rules, dynamic_rules));
            }
            refuse_rules_file(comm, collective, algorithm);
            evidence += fmt::format(", {}=1", dynamic_rules);
        }
        // The component with the highest priority serves a communicator; without a change that could be han or sm.
        evidence +=
            fmt::format(", {}={} when the communicator was made, higher than all others", priority.name(), level);
        std::optional<TemporaryValue> highest; // until the communicator is created below
        if (priority.writable()) {
            highest.emplace(priority, level);
        }
        if (!collective.variable.starts_with(tuned)) {
            return std::make_unique<ReadInEveryCall>(comm, variable, algorithm.number,
                                                     "set before each block and read back: " + evidence);
        }
        if (!variable.writable()) {
            if (variable.read() != algorithm.number) {
                throw Error::usage(
                    fmt::format("{} is {}, not {}, and cannot be changed after MPI_Init; set OMPI_MCA_{}={}",
                                variable.name(), variable.read(), algorithm.number, variable.name(), algorithm.number));
            }
            return std::make_unique<OwnCommunicator>(comm, "set before MPI_Init and read back: " + evidence);
        }
        const TemporaryValue chosen(variable, algorithm.number);
        return std::make_unique<OwnCommunicator>(comm, "set at MPI_Comm_dup and read back: " + evidence);
    }

private:
    /// Adds the collective of a control variable, with the names of the variable's values as its algorithms.
    void add(const std::string &name, const std::string &component) {
        const auto variable = ControlVariable::find(name);
        if (!variable || variable->values().empty()) {
            return;
        }
        SelectableCollective collective{
            name.substr(component.size(), name.size() - component.size() - std::string(suffix).size()), name, {}};
        for (const auto &[number, value] : variable->values()) {
            if (number != library_chooses) {
                std::string spelled = value;
                std::ranges::replace(spelled, '-', '_');
                if (spelled == default_algorithm) { // allgatherv has an algorithm with this name, a reserved word here
                    spelled += fmt::format("_{}", number);
                }
                collective.algorithms.push_back({spelled, number});
            }
        }
        collectives_.push_back(collective);
    }

    /// Throws Error::usage if a site's rules file has rules for the collective. In Open MPI 4.1 they have precedence
    /// over the variable of the collective; in 5 they do not.
    static void refuse_rules_file(const Communicator &comm, const SelectableCollective &collective,
                                  const Algorithm &algorithm) {
        const std::string variable = fmt::format("OMPI_MCA_{}", rules_filename);
        for (const Setting &setting : find_settings()) {
            if (setting.name == variable && mpi_library().find("Open MPI v4.") != std::string::npos &&
                has_rules(setting.value, collective.name, comm.size())) {
                throw Error::usage(fmt::format(
                    "Open MPI would ignore algorithm {} of {}: rules for it on {} ranks are in '{}' ({}{}) and come "
                    "first; set {}= (empty) in the environment to put that file aside",
                    algorithm.name, collective.name, comm.size(), setting.value, rules_filename,
                    setting.source.empty() ? ", environment" : ", set in " + setting.source, variable));
            }
        }
    }

    /// The priority variable of a component that could serve the communicator instead, because its priority is at least
    /// `level`; "" without such a component. `priority`: variable of the chosen algorithm's component.
    static std::string rival_of(const ControlVariable &priority, int level) {
        const bool is_nonblocking = !priority.name().starts_with(tuned);
        for (const std::string &name : control_variable_names()) {
            const bool competes = name.starts_with("coll_") && name.ends_with("_priority") && name != priority.name() &&
                                  !contains(no_rivals, name) && !(is_nonblocking && contains(blocking_only, name));
            if (competes && ControlVariable::get(name).read() >= level) {
                return name;
            }
        }
        return "";
    }
};

} // namespace

AlgorithmFamilyInfo algorithm_families::openmpi() {
    return {[](const AlgorithmRequests &requests) {
                // Without this variable coll_tuned ignores its other variables.
                set_unless_set(fmt::format("OMPI_MCA_{}", dynamic_rules), "1");
                const auto constant = requests.find(constant_collective);
                if (constant != requests.end() && constant->second.size() == 1 &&
                    constant->second.front() != default_algorithm) {
                    set_unless_set(fmt::format("OMPI_MCA_{}{}{}", tuned, constant_collective, suffix),
                                   constant->second.front());
                }
            },
            []() -> std::unique_ptr<AlgorithmFamily> {
                // A variable of the framework, which exists even if the user has excluded the components.
                if (!ControlVariable::find("coll_base_verbose")) {
                    return nullptr;
                }
                return std::make_unique<OpenMpi>();
            }};
}

} // namespace bench
