// Declares, parses and checks the options of a run (options.h).
#include "run/options.h"

#include "build_info.h"
#include "mpi/global_clock.h"
#include "mpi/library.h"
#include "operations/operation.h"
#include "output/context.h"
#include "output/sink.h"
#include "rules/arrival_pattern.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "synchronizers/synchronizer.h"
#include "text/error.h"
#include "text/parse.h"
#include "text/words.h"

#include <algorithm>
#include <cstdlib>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>

namespace bench {
namespace {

/// The end of the help text: names of operations, components, formats and subcommands, and exit statuses.
std::string footer(const std::vector<SubcommandName> &subcommands) {
    return fmt::format("Operations:\n"
                       "  {}\n"
                       "\n"
                       "Synchronizers:\n"
                       "{}\n"
                       "Timing schemes:\n"
                       "{}\n"
                       "Arrival patterns:\n"
                       "{}\n"
                       "Stopping rules:\n"
                       "{}\n"
                       "Warm-up rules:\n"
                       "{}\n"
                       "Formats and files:\n"
                       "{}\n"
                       "Parameters follow a name in parentheses, e.g. one_late(rank=1);\n"
                       "downbeat-bench list shows them all.\n"
                       "\n"
                       "Subcommands, in place of operations (downbeat-bench clock --help):\n"
                       "{}\n"
                       "Exit status: 0 everything measured, 1 failure, 2 invalid arguments, 3 too few\n"
                       "valid samples in a cell, 4 wrong results.",
                       fill(valid_operations(), 2), describe_entries(all_synchronizers()),
                       describe_entries(all_timings()), describe_entries(all_patterns()),
                       describe_entries(all_stopping_rules()), describe_entries(all_warmup_rules()),
                       describe_entries(all_formats()), describe_entries(subcommands));
}

/// The text of --version: versions of the program, of the loaded library and of MPI, and how the program was built.
std::string version_text() {
    const char *const choice = std::getenv("DOWNBEAT_MPI_CHOICE"); // of packaging/wheel/downbeat-bench.c
    return fmt::format("downbeat-bench {} ({})\n"
                       "libdownbeat {}\n"
                       "MPI {}, standard {}\n"
                       "{}"
                       "built by {}, {}",
                       build_version, build_revision, Downbeat_version(), short_mpi_library(mpi_library()),
                       mpi_standard(), choice == nullptr ? "" : fmt::format("chosen: {}\n", choice), build_compiler,
                       build_type);
}

/// Sets options that are not on the command line to the configuration of a paper, if --published names one. Throws
/// Error::usage for an unknown paper.
void follow_paper(const CommandLine &line, const std::string &name,
                  const std::map<std::string, std::string *> &options) {
    if (!line.is_set("--published")) {
        return;
    }
    check_names("paper", {name}, component_names("published"));
    const auto *paper = Downbeat_components("published");
    while ((*paper)->name != name) {
        ++paper;
    }
    for (const Downbeat_parameter *parameter = (*paper)->parameters; parameter->name != nullptr; ++parameter) {
        const auto option = options.find(parameter->name);
        if (option != options.end() && !line.is_set(parameter->name)) {
            *option->second = parameter->value;
        }
    }
}

/// Names of the arrival patterns except "none".
std::vector<std::string> delaying_patterns() {
    std::vector<std::string> names = names_of(all_patterns());
    std::erase(names, no_pattern);
    return names;
}

/// Pairs every timing scheme with every synchronizer, except:
/// - Timing scheme window is paired with synchronizer window only, which is added if it is missing.
/// - If timing scheme window is requested, synchronizer window is not paired with per_call, which measures the same.
/// Throws Error::usage if timing scheme window is the only one and --sync names another synchronizer, or if timing
/// scheme batch_synced, which has a start per call, is requested with a window that repeats samples and has one start
/// per sample.
std::vector<RequestedStart> pair_timings(const CommandLine &line, std::vector<Component> synchronizers,
                                         const std::vector<Component> &timings) {
    const auto is_window = [](const Component &component) { return component.name() == window_name; };
    const bool windows = std::ranges::any_of(timings, is_window);
    if (windows && timings.size() == 1) {
        const auto unusable = std::ranges::find_if_not(synchronizers, is_window);
        if (line.is_set("--sync") && unusable != synchronizers.end()) {
            throw Error::usage(fmt::format("timing scheme window needs synchronizer window, not {}; use --sync window",
                                           unusable->text()));
        }
        std::erase_if(synchronizers, std::not_fn(is_window));
    }
    if (windows && std::ranges::none_of(synchronizers, is_window)) {
        synchronizers.push_back(parse_component("synchronizer", window_name, all_synchronizers()));
    }
    const auto repeating_window = std::ranges::find_if(synchronizers, [&](const Component &component) {
        return is_window(component) && component.word("overrun") == "repeat"; // repeats samples that end too late
    });
    const auto start_per_call =
        std::ranges::find_if(timings, [](const Component &component) { return component.name() == "batch_synced"; });
    if (repeating_window != synchronizers.end() && start_per_call != timings.end()) {
        throw Error::usage(fmt::format("timing scheme {} needs a window per call, but {} has one per sample; use "
                                       "per_call, batch or window with it",
                                       start_per_call->text(), repeating_window->text()));
    }
    std::vector<RequestedStart> pairs;
    for (const Component &synchronizer : synchronizers) {
        for (const Component &timing : timings) {
            const bool is_duplicate = windows && is_window(synchronizer) && timing.name() == "per_call";
            if ((!is_window(timing) || is_window(synchronizer)) && !is_duplicate) {
                pairs.push_back({synchronizer, timing});
            }
        }
    }
    return pairs;
}

/// The factor of "1.5x".
double parse_multiple(const std::string &text) {
    const std::optional<double> factor = read_number<double>(std::string_view(text).substr(0, text.size() - 1));
    if (!factor || !(*factor >= 1e-3 && *factor <= 1e6)) {
        throw Error::usage(fmt::format(
            "--delay cannot be '{}'; use a multiple from 0.001x to 1000000x, or a duration, e.g. 50us", text));
    }
    return *factor;
}

/// Parses the delays, and adds pattern "none" to the patterns. Throws Error::usage if patterns and delays do not fit.
void check_delays(const CommandLine &line, const std::string &list, Options &options) {
    const auto is_none = [](const Component &pattern) { return pattern.name() == no_pattern; };
    const auto delaying = std::ranges::find_if_not(options.patterns, is_none);
    if (delaying == options.patterns.end()) {
        for (const char *option : {"--delay", "--permute"}) {
            if (line.is_set(option)) {
                throw Error::usage(
                    fmt::format("{} needs an arrival pattern that delays ranks; add --pattern with one of {}", option,
                                join(delaying_patterns())));
            }
        }
        return;
    }
    if (std::ranges::none_of(options.patterns, is_none)) {
        options.patterns.insert(options.patterns.begin(),
                                parse_component("arrival pattern", no_pattern, all_patterns()));
    }
    if (!line.is_set("--delay")) {
        for (const Component &pattern : options.patterns) {
            if (!is_none(pattern) && !find_by_name(all_patterns(), pattern.name()).has_recorded_delay) {
                throw Error::usage(fmt::format(
                    "arrival pattern {} needs a delay; add e.g. --delay 10us,50us or --delay 1.5x", pattern.text()));
            }
        }
        return;
    }
    for (const std::string &text : split(list)) {
        const bool multiple = text.ends_with('x'); // "1.5x"; else a duration
        const RequestedDelay delay = multiple ? RequestedDelay{std::nullopt, parse_multiple(text)}
                                              : RequestedDelay{parse_duration("--delay", text), std::nullopt};
        if (contains(options.delays, delay)) {
            throw Error::usage(fmt::format("delay '{}' is given twice; give it once", text));
        }
        if (multiple || *delay.seconds > 0.0) { // a delay of 0 is pattern none, which is measured anyway
            options.delays.push_back(delay);
        }
    }
    if (options.delays.empty()) {
        throw Error::usage(
            fmt::format("--delay cannot be '{}' alone, as that delays no rank; add a delay above 0, e.g. 10us", list));
    }
}

/// Checks the options --algorithm (`choices`) and --barrier-algorithm (`barrier`) against the other options.
AlgorithmChoices choose_algorithms(const std::vector<std::string> &choices, const std::string &barrier,
                                   const Options &options) {
    const bool calls_barrier = std::ranges::any_of(options.timings, [](const auto &timing) {
        const Component &synchronizer = timing.synchronizer;
        return find_by_name(all_synchronizers(), synchronizer.name()).calls_mpi_barrier(synchronizer);
    });
    const auto name = [](const RequestedOperation &operation) { return operation.component.name(); };
    return check_algorithms(choices, barrier, mapped(options.operations, name), calls_barrier);
}

} // namespace

const std::vector<AttributeOf<SamplingSettings>> &setting_attributes() {
    using S = SamplingSettings;
    using enum Origin;
    static const std::vector<AttributeOf<S>> all = {
        {setting, "max_attempts", "", "attempts per valid sample after which a block is given up", &S::max_attempts,
         "attempts per sample", "numbers of attempts per sample"},
        {setting, "observed_rank", "", "rank that metric latency_observed reports", &S::observed, "observed rank",
         "observed ranks"},
        {setting, "patterns_permuted", "", "1 if arrival patterns are permuted over the ranks", &S::permuted,
         "permuted patterns", "ways of permuting patterns"},
    };
    return all;
}

std::variant<Options, std::string> parse_options(int argc, char **argv, int ranks,
                                                 const std::vector<SubcommandName> &subcommands) {
    Options options;
    std::vector<std::string> operations;
    std::vector<std::string> algorithms;
    std::string parameters;
    std::string sizes = "8:64K";
    std::string synchronizers = "mpi_barrier,harmonize";
    std::string barrier_algorithm;
    std::string timings = "per_call";
    std::string patterns = no_pattern;
    std::string delays;
    std::string late;
    std::string stopping = "fixed";
    std::string warmup = "fixed";

    CommandLine line("Measures MPI operations from a common start. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench");
    line.version(version_text());
    line.positional("operation", operations, "operations to measure");
    line.word(
        "-m,--sizes", "SIZES", sizes,
        "message sizes in bytes: powers of two from:to, a list, or both; downbeat-bench list operation shows what "
        "each operation's size counts");
    line.word("--with", "PARAMETERS", parameters,
              "parameters for all operations that have them, e.g. root=1,type=int32");
    line.flag("--validate", options.validate, "check the results of calls before each block of samples");
    line.word("--sync", "NAMES", synchronizers, "synchronizers to run before each sample, a list");
    line.words("--algorithm", "CHOICES", algorithms,
               "the MPI library's own algorithms for an operation, e.g. reduce=linear,binary,bcast=chain; "
               "downbeat-bench list algorithm shows them [default: default, the library's choice]");
    line.word("--barrier-algorithm", "NAMES", barrier_algorithm,
              "the same for the MPI_Barrier that synchronizers call, a list [default default]");
    line.word("--timing", "NAMES", timings, "timing schemes, i.e. which calls the timestamps enclose, a list");
    line.word("--pattern", "NAMES", patterns, "arrival patterns, a list; each is compared with none");
    line.word("--delay", "DELAYS", delays,
              "largest delays of the patterns, a list: with a unit (10us), or as multiples of the operation's time "
              "without delays (1.5x)");
    line.flag("--permute", options.permuted, "permute the patterns over the ranks, using the seed");
    line.option(
        "-r,--repetitions", "N",
        [&](const std::string &word) {
            stopping = fmt::format("fixed(samples={})", parse_number("--repetitions", word, 1L, 1'000'000'000L));
        },
        "valid samples per cell, short for --stop 'fixed(samples=N)'");
    line.word("--stop", "RULE", stopping, "stopping rule: how long to measure each cell");
    line.word("--warmup", "RULE", warmup,
              "warm-up rule: calls to discard before each block of samples; a number is short for 'fixed(calls=N)'");
    line.number("--max-attempts", "N", options.max_attempts, 1L, 1'000'000L,
                "give up on a block after N attempts per valid sample requested");
    line.number("--observe", "RANK", options.observed, 0, ranks - 1, "rank that metric latency_observed reports");
    line.word("--published", "PAPER", options.published,
              "the whole configuration of a paper, e.g. hunold2015: its clocks, and --sync, --timing and --late unless "
              "they are given; downbeat-bench list published shows what it has");
    line.number("--tolerance", "SECONDS", options.tolerance, 0.0, 1.0,
                "reject a sample if a rank starts later than this after its planned start [default: the library's "
                "setting tolerance, 0.5e-6]");
    line.word("--late", "SECONDS", late,
              "count a sample if no rank starts later than this, and all know their clocks, or, for the word flags, if "
              "all flags are 1 [default: the tolerance and the flags decide]");
    line.number("--late-ranks", "SHARE", options.starts.late_ranks, 0.0, 1.0,
                "count a sample although up to this share of the ranks starts late, from 0 to 1", "a share");
    options.declare(line, "seed for the order of the blocks, random patterns and permutations");
    line.footer(footer(subcommands));
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }

    if (line.is_set("--stop") && line.is_set("--repetitions")) {
        throw Error::usage("--repetitions and --stop exclude each other; use one of them (--repetitions N is short for "
                           "--stop 'fixed(samples=N)')");
    }
    if (line.is_set("--barrier-algorithm") && barrier_algorithm.empty()) {
        throw Error::usage("--barrier-algorithm is empty; name at least one algorithm");
    }
    follow_paper(line, options.published, {{"--sync", &synchronizers}, {"--timing", &timings}, {"--late", &late}});
    if (!late.empty()) { // else the defaults of StartLimits, and the library's tolerance in start_limits()
        options.starts.flags_count = late == late_flags;
        options.starts.late = options.starts.flags_count ? std::numeric_limits<double>::infinity()
                                                         : parse_number("--late", late, 0.0, 1.0, "flags, or seconds");
    }
    options.operations = parse_operations(
        operations, line.is_set("--with") ? split(parameters) : std::vector<std::string>{}, names_of(subcommands));
    if (any_sized(options.operations)) {
        options.sizes = parse_sizes(sizes);
    } else if (line.is_set("--sizes")) {
        throw Error::usage("--sizes needs an operation that has a message size; remove it, or add e.g. bcast");
    }
    check_sizes(options.operations, options.sizes, ranks);
    options.timings = pair_timings(line, parse_components("synchronizer", synchronizers, all_synchronizers()),
                                   parse_components("timing scheme", timings, all_timings()));
    options.algorithms = choose_algorithms(algorithms, barrier_algorithm, options);
    options.patterns = parse_components("arrival pattern", patterns, all_patterns());
    check_delays(line, delays, options);
    options.stopping = parse_component("stopping rule", stopping, all_stopping_rules());
    const bool is_number = !warmup.empty() && warmup.find_first_not_of("0123456789") == std::string::npos;
    options.warmup = parse_component("warm-up rule", is_number ? fmt::format("fixed(calls={})", warmup) : warmup,
                                     all_warmup_rules());
    // Constructed only for the error that is thrown if parameters of a rule contradict each other.
    find_by_name(all_stopping_rules(), options.stopping.name()).make(options.stopping);
    find_by_name(all_warmup_rules(), options.warmup.name()).make(options.warmup);
    options.check(/*of_cells=*/true);
    return options;
}

} // namespace bench
