#include "options.h"

#include "build_info.h"
#include "error.h"
#include "experiment.h"
#include "names.h"
#include "operation.h"
#include "parse_number.h"
#include "reporter_registry.h"
#include "sizes.h"
#include "synchronizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *default_sizes = "8:64K";
constexpr const char *default_synchronizers = "mpi_barrier,harmonize";
constexpr long most_samples = 1'000'000'000;

// What the command line says, before it is checked.
struct Words {
    std::vector<std::string> operations;
    std::string sizes;
    std::string synchronizers = default_synchronizers;
    std::string repetitions;
    std::string max_attempts;
    std::string warmup;
    std::string root;
    std::string tolerance;
    CommonWords common;
};

std::string footer() {
    return fmt::format("\nOperations:\n{}\nSynchronizers:\n{}\nFormats and files:\n{}\n"
                       "Experiments, in place of operations (downbeat-bench clock --help):\n{}\n"
                       "Exit status: 0 all measured, 1 failure, 2 bad arguments, 3 a cell has too few valid samples.",
                       describe_entries(all_operations()), describe_entries(all_synchronizers()),
                       describe_entries(all_reporters()), describe_entries(all_experiments()));
}

void declare(CommandLine &line, Words &words) {
    line.version(fmt::format("downbeat-bench {} ({})", build_version, build_revision));
    line.positional("operation", words.operations, "operations to measure");
    line.option("-m,--sizes", words.sizes, "SIZES",
                fmt::format("message sizes in bytes per process: powers of two from:to, a list, or both [default {}]",
                            default_sizes));
    line.option("--sync", words.synchronizers, "NAMES",
                fmt::format("synchronizers before each sample, a list [default {}]", default_synchronizers));
    line.option("-r,--repetitions", words.repetitions, "N", "valid samples per cell [default 1000]");
    line.option("--max-attempts", words.max_attempts, "N",
                "give a cell up after so many attempts per valid sample wanted [default 20]");
    line.option("--warmup", words.warmup, "N", "unrecorded attempts before each block of samples [default 20]");
    line.option("--root", words.root, "RANK", "root of rooted operations [default 0]");
    line.option("--tolerance", words.tolerance, "SECONDS",
                "a rank that starts later than this after the deadline makes the sample invalid "
                "[default: setting tolerance of the library, 0.5e-6]");
    words.common.declare(line, "of the random order of the blocks");
    line.footer(footer());
}

void check_sizes(const Options &options) {
    for (const std::string &name : options.operations) {
        const OperationInfo &operation = find_by_name(all_operations(), name);
        if (!operation.sized) {
            continue;
        }
        for (const std::uint64_t size : options.sizes) {
            if (size % operation.size_divisor != 0) {
                throw Error::usage(fmt::format("{} cannot take messages of {} bytes; valid are multiples of {} bytes",
                                               name, size, operation.size_divisor));
            }
            if (size > operation.max_size) {
                throw Error::usage(fmt::format("{} cannot take messages of {} bytes; valid are at most {} bytes", name,
                                               size, operation.max_size));
            }
        }
    }
}

bool any_operation(const Options &options, bool OperationInfo::*property) {
    return std::any_of(options.operations.begin(), options.operations.end(),
                       [&](const std::string &name) { return find_by_name(all_operations(), name).*property; });
}

std::vector<std::string> names_with(bool OperationInfo::*property) {
    std::vector<std::string> names;
    for (const OperationInfo &operation : all_operations()) {
        if (operation.*property) {
            names.push_back(operation.name);
        }
    }
    return names;
}

void check_operations(const std::vector<std::string> &operations) {
    const std::vector<std::string> valid = names_of(all_operations());
    const std::vector<std::string> experiments = names_of(all_experiments());
    if (operations.empty()) {
        throw Error::usage(fmt::format("no operation is given; valid are {}; or, in place of operations, one of {}",
                                       join(valid), join(experiments)));
    }
    for (const std::string &name : operations) {
        if (std::find(experiments.begin(), experiments.end(), name) != experiments.end()) {
            throw Error::usage(fmt::format("{} is no operation but an experiment of its own; give it in place of the "
                                           "operations, as first word",
                                           name));
        }
    }
    check_names("operation", operations, valid);
}

Options check(const CommandLine &line, const Words &words, int ranks) {
    Options options;
    check_operations(words.operations);
    options.operations = words.operations;

    options.synchronizers = split(words.synchronizers);
    check_names("synchronizer", options.synchronizers, names_of(all_synchronizers()));

    if (any_operation(options, &OperationInfo::sized)) {
        options.sizes = parse_sizes(line.given("--sizes") ? words.sizes : default_sizes);
        check_sizes(options);
    } else if (line.given("--sizes")) {
        throw Error::usage(fmt::format("--sizes is given, but no operation that has a size; these have: {}",
                                       join(names_with(&OperationInfo::sized))));
    }

    if (line.given("--root")) {
        if (!any_operation(options, &OperationInfo::rooted)) {
            throw Error::usage(fmt::format("--root is given, but no operation that has a root; these have: {}",
                                           join(names_with(&OperationInfo::rooted))));
        }
        options.root = parse_number("--root", words.root, 0, ranks - 1);
    }
    if (line.given("--repetitions")) {
        options.repetitions = parse_number("--repetitions", words.repetitions, 1L, most_samples);
    }
    if (line.given("--max-attempts")) {
        options.max_attempts = parse_number("--max-attempts", words.max_attempts, 1L, 1'000'000L);
    }
    if (line.given("--warmup")) {
        options.warmup = parse_number("--warmup", words.warmup, 0L, most_samples);
    }
    if (line.given("--tolerance")) {
        options.tolerance = parse_number("--tolerance", words.tolerance, 0.0, 1.0);
    }
    words.common.check(line, options);
    return options;
}

} // namespace

std::variant<Options, std::string> parse_options(int argc, char **argv, int ranks) {
    CommandLine line("Measures MPI operations from a common start. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench");
    Words words;
    declare(line, words);
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    return check(line, words, ranks);
}

} // namespace bench
