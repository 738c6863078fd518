// Checks the chosen algorithms against those of the MPI library (algorithm_choices.h).
#include "run/algorithm_choices.h"

#include "mpi/library.h"
#include "operations/algorithm.h"
#include "operations/operation.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace bench {
namespace {

constexpr const char *operation_option = "--algorithm";
constexpr const char *barrier_option = "--barrier-algorithm";
constexpr const char *barrier_collective = "barrier"; // the operation, and the key of the synchronizers' MPI_Barrier

/// The algorithms of this MPI library. Throws Error::usage if the library does not let programs choose.
std::shared_ptr<const AlgorithmFamily> need_family(const char *option) {
    std::shared_ptr<const AlgorithmFamily> family = find_algorithm_family();
    if (!family) {
        throw Error::usage(
            fmt::format("{} cannot be used: this MPI library has no variables that choose algorithms", option));
    }
    return family;
}

/// The collective `name`. Throws Error::usage if its algorithm cannot be chosen.
const SelectableCollective &need_collective(const AlgorithmFamily &family, const std::string &name) {
    const SelectableCollective *const collective = find_collective(family, name);
    if (collective == nullptr) {
        const std::vector<std::string> names = names_of(family.collectives());
        std::string selected; // the user's selection of Open MPI components, e.g. "^tuned"
        for (const Setting &setting : find_settings()) {
            if (setting.name == "OMPI_MCA_coll") {
                selected = fmt::format("; {}={} ({}) leaves components out", setting.name, setting.value,
                                       setting.source.empty() ? "environment" : setting.source);
            }
        }
        throw Error::usage(fmt::format("this MPI library cannot choose an algorithm for {}; it can for {}{}", name,
                                       names.empty() ? "none" : join(names), selected));
    }
    return *collective;
}

/// Converts numbers of algorithms to names, and '-' in names to '_'. Throws Error::usage if the collective has no
/// algorithm of a name.
std::vector<std::string> resolve(const SelectableCollective &collective, const std::vector<std::string> &requested) {
    std::vector<std::string> names;
    for (std::string name : requested) {
        for (const Algorithm &algorithm : collective.algorithms) {
            if (name == fmt::format("{}", algorithm.number)) {
                name = algorithm.name;
            }
        }
        std::ranges::replace(name, '-', '_');
        names.push_back(name);
    }
    std::vector<std::string> valid = {default_algorithm};
    for (const Algorithm &algorithm : collective.algorithms) {
        valid.push_back(algorithm.name);
    }
    check_names("algorithm of " + collective.name, names, valid);
    return names;
}

/// Throws Error::usage if several algorithms are chosen and the library cannot change them within a run.
void check_switchable(const AlgorithmFamily &family, const SelectableCollective &collective,
                      const std::vector<std::string> &names) {
    if (names.size() > 1 && !family.switchable(collective)) {
        throw Error::usage(fmt::format(
            "this MPI library reads the algorithm of {} only in MPI_Init; choose one per launch instead of {}",
            collective.name, join(names)));
    }
}

/// Throws Error::usage if operation barrier and the synchronizers' MPI_Barrier would need different algorithms at the
/// same time, and the library applies a choice to all communicators.
void check_barriers(const AlgorithmChoices &choices, const SelectableCollective &collective) {
    const std::vector<std::string> operation = choices.of(barrier_collective);
    if (choices.family->chosen_per_communicator(collective) ||
        (operation.size() == 1 && choices.barrier.size() == 1 && operation == choices.barrier)) {
        return;
    }
    throw Error::usage(
        fmt::format("this MPI library uses one algorithm at a time for operation barrier ({}) and the synchronizers' "
                    "MPI_Barrier ({}); choose the same one with {} barrier=NAME and {} NAME, or use --sync harmonize",
                    join(operation), join(choices.barrier), operation_option, barrier_option));
}

/// The values of an option: X of "--algorithm X" and of "--algorithm=X".
std::vector<std::string> option_values(int argc, char **argv, const std::string &option) {
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == option && i + 1 < argc) {
            words.emplace_back(argv[i + 1]);
        } else if (word.starts_with(option + "=")) {
            words.push_back(word.substr(option.size() + 1));
        }
    }
    return words;
}

} // namespace

std::vector<std::string> AlgorithmChoices::of(const std::string &operation) const {
    const auto match = operations.find(operation);
    return match == operations.end() ? std::vector<std::string>{default_algorithm} : match->second;
}

AlgorithmRequests split_algorithms(const std::vector<std::string> &options) {
    AlgorithmRequests requests;
    for (const std::string &option : options) {
        std::string collective;
        for (const std::string &word : split(option)) {
            const std::size_t equals = word.find('=');
            if (equals != std::string::npos) {
                collective = word.substr(0, equals);
            } else if (collective.empty()) {
                throw Error::usage(
                    fmt::format("{} cannot be '{}'; use an operation and its algorithms, e.g. reduce=linear,binary",
                                operation_option, option));
            }
            requests[collective].push_back(equals == std::string::npos ? word : word.substr(equals + 1));
        }
    }
    return requests;
}

AlgorithmChoices check_algorithms(const std::vector<std::string> &options, const std::string &barrier,
                                  const std::vector<std::string> &operations, bool calls_barrier) {
    AlgorithmChoices choices;
    if (options.empty() && barrier.empty()) {
        return choices;
    }
    choices.family = need_family(options.empty() ? barrier_option : operation_option);
    for (const auto &[name, requested] : split_algorithms(options)) {
        check_names("operation", {name}, names_of(all_operations()));
        if (!contains(operations, name)) {
            throw Error::usage(
                fmt::format("{} chooses an algorithm of {}, but {} is not measured; add it to the operations",
                            operation_option, name, name));
        }
        const SelectableCollective &collective = need_collective(*choices.family, name);
        choices.operations[name] = resolve(collective, requested);
        check_switchable(*choices.family, collective, choices.operations[name]);
    }
    if (!barrier.empty()) {
        if (!calls_barrier) {
            throw Error::usage(fmt::format(
                "{} needs a synchronizer that calls MPI_Barrier; add e.g. --sync mpi_barrier", barrier_option));
        }
        // A variable, because GCC 14 warns that the collective might refer to a temporary string.
        const std::string name = barrier_collective;
        const SelectableCollective &collective = need_collective(*choices.family, name);
        choices.barrier = resolve(collective, split(barrier));
        check_switchable(*choices.family, collective, choices.barrier);
    }
    if (calls_barrier && contains(operations, barrier_collective)) {
        if (const SelectableCollective *const collective = find_collective(*choices.family, barrier_collective)) {
            check_barriers(choices, *collective);
        }
    }
    return choices;
}

void prepare_algorithms(int argc, char **argv) {
    if (argc > 1 && argv[1] == std::string_view(algorithms_subcommand)) {
        for (const AlgorithmFamilyInfo &family : all_algorithm_families()) {
            family.before_init({}); // no requests: the subcommand chooses after MPI_Init, where the library can
        }
        prepare_message_counter(); // the subcommand counts the messages of each algorithm
        return;
    }
    const std::vector<std::string> options = option_values(argc, argv, operation_option);
    const std::vector<std::string> barriers = option_values(argc, argv, barrier_option);
    if (options.empty() && barriers.empty()) {
        return;
    }
    AlgorithmRequests requests;
    try {
        requests = split_algorithms(options);
    } catch (const Error &) {
        return; // check_algorithms reports it after MPI_Init
    }
    for (const std::string &list : barriers) {
        for (const std::string &name : split(list)) {
            std::vector<std::string> &known = requests[barrier_collective];
            if (!contains(known, name)) {
                known.push_back(name);
            }
        }
    }
    for (const AlgorithmFamilyInfo &family : all_algorithm_families()) {
        family.before_init(requests);
    }
}

} // namespace bench
