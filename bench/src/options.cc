#include "options.h"

#include "build_info.h"
#include "error.h"
#include "names.h"
#include "operation.h"
#include "reporter_registry.h"
#include "sizes.h"
#include "synchronizer.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *default_sizes = "8:64K";
constexpr const char *default_synchronizers = "mpi_barrier,harmonize";
constexpr long most_samples = 1'000'000'000;

// Numbers are parsed here and not by CLI11, whose messages do not say what would be valid.
template <typename Number> Number parse_number(const char *option, const std::string &text, Number least, Number most) {
    Number number{};
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || !(number >= least && number <= most)) {
        throw Error::usage(
            fmt::format("{} cannot be '{}'; valid are {} to {}{}", option, text, least, most,
                        std::is_integral_v<Number> ? ", whole numbers without suffix" : ", seconds, as 0.5e-6"));
    }
    return number;
}

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
    std::string seed;
    std::vector<std::string> outputs;
    std::string format = "table";
    bool quiet = false;
};

template <typename Registry> std::string describe(const Registry &registry) {
    std::string text;
    for (const auto &entry : registry) {
        text += fmt::format("  {:<26}{}\n", entry.name, entry.description);
    }
    return text;
}

std::string footer() {
    return fmt::format("\nOperations:\n{}\nSynchronizers:\n{}\nFormats and files:\n{}\n"
                       "Exit status: 0 all measured, 1 failure, 2 bad arguments, 3 a cell has too few valid samples.",
                       describe(all_operations()), describe(all_synchronizers()), describe(all_reporters()));
}

void declare(CLI::App &app, Words &words) {
    app.set_version_flag("--version", fmt::format("downbeat-bench {} ({})", build_version, build_revision));
    app.option_defaults()->disable_flag_override();
    app.add_option("operation", words.operations, "operations to measure")->type_name("")->required()->expected(1, -1);
    app.add_option("-m,--sizes", words.sizes,
                   fmt::format("message sizes in bytes per process: powers of two from:to, a list, or both "
                               "[default {}]",
                               default_sizes))
        ->type_name("SIZES");
    app.add_option("--sync", words.synchronizers,
                   fmt::format("synchronizers before each sample, a list [default {}]", default_synchronizers))
        ->type_name("NAMES");
    app.add_option("-r,--repetitions", words.repetitions, "valid samples per cell [default 1000]")->type_name("N");
    app.add_option("--max-attempts", words.max_attempts,
                   "give a cell up after so many attempts per valid sample wanted [default 20]")
        ->type_name("N");
    app.add_option("--warmup", words.warmup, "unrecorded attempts before each block of samples [default 20]")
        ->type_name("N");
    app.add_option("--root", words.root, "root of rooted operations [default 0]")->type_name("RANK");
    app.add_option("--tolerance", words.tolerance,
                   "a rank that starts later than this after the deadline makes the sample invalid "
                   "[default: setting tolerance of the library, 0.5e-6]")
        ->type_name("SECONDS");
    app.add_option("--seed", words.seed, "of the random order of the blocks [default: drawn, and recorded]")
        ->type_name("N");
    app.add_option("-o,--output", words.outputs, "file, its kind by its suffix; may be given several times")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--format", words.format, "what is printed on standard output [default table]")->type_name("FORMAT");
    app.add_flag("-q,--quiet", words.quiet, "no progress on standard error");
}

std::vector<std::string> option_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options()) {
        if (option->nonpositional()) {
            names.push_back(option->get_name());
        }
    }
    return names;
}

bool given(const CLI::App &app, const std::string &option) { return app.count(option) > 0; }

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

void check_outputs(const std::vector<std::string> &outputs) {
    for (auto output = outputs.begin(); output != outputs.end(); ++output) {
        if (std::find(outputs.begin(), output, *output) != output) {
            throw Error::usage(fmt::format("file '{}' is given twice; name each once", *output));
        }
        find_reporter_by_suffix(*output); // throws where there is none
    }
}

Options check(const CLI::App &app, const Words &words, int ranks) {
    Options options;
    options.operations = words.operations;
    check_names("operation", options.operations, names_of(all_operations()));

    options.synchronizers = split(words.synchronizers);
    check_names("synchronizer", options.synchronizers, names_of(all_synchronizers()));

    if (any_operation(options, &OperationInfo::sized)) {
        options.sizes = parse_sizes(given(app, "--sizes") ? words.sizes : default_sizes);
        check_sizes(options);
    } else if (given(app, "--sizes")) {
        throw Error::usage(fmt::format("--sizes is given, but no operation that has a size; these have: {}",
                                       join(names_with(&OperationInfo::sized))));
    }

    if (given(app, "--root")) {
        if (!any_operation(options, &OperationInfo::rooted)) {
            throw Error::usage(fmt::format("--root is given, but no operation that has a root; these have: {}",
                                           join(names_with(&OperationInfo::rooted))));
        }
        options.root = parse_number("--root", words.root, 0, ranks - 1);
    }
    if (given(app, "--repetitions")) {
        options.repetitions = parse_number("--repetitions", words.repetitions, 1L, most_samples);
    }
    if (given(app, "--max-attempts")) {
        options.max_attempts = parse_number("--max-attempts", words.max_attempts, 1L, 1'000'000L);
    }
    if (given(app, "--warmup")) {
        options.warmup = parse_number("--warmup", words.warmup, 0L, most_samples);
    }
    if (given(app, "--tolerance")) {
        options.tolerance = parse_number("--tolerance", words.tolerance, 0.0, 1.0);
    }
    if (given(app, "--seed")) {
        options.seed = parse_number<std::uint64_t>("--seed", words.seed, 0, UINT64_MAX);
    }

    check_outputs(words.outputs);
    options.outputs = words.outputs;
    check_names("format", {words.format}, stdout_formats());
    options.format = words.format;
    options.quiet = words.quiet;
    return options;
}

} // namespace

std::variant<Options, std::string> parse_options(int argc, char **argv, int ranks) {
    CLI::App app("Measures MPI operations from a common start. Run under mpirun, mpiexec or srun.", "downbeat-bench");
    Words words;
    declare(app, words);
    app.footer(footer());
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return app.help();
    } catch (const CLI::CallForVersion &version) {
        return fmt::format("{}\n", version.what());
    } catch (const CLI::ExtrasError &error) {
        throw Error::usage(fmt::format("{}; valid options are {}", error.what(), join(option_names(app))));
    } catch (const CLI::RequiredError &) {
        throw Error::usage(fmt::format("no operation is given; valid are {}", join(names_of(all_operations()))));
    } catch (const CLI::ParseError &error) {
        throw Error::usage(fmt::format("{}; downbeat-bench --help shows what each option takes", error.what()));
    }
    return check(app, words, ranks);
}

} // namespace bench
