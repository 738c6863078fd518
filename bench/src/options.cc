#include "options.h"

#include "arrival_pattern.h"
#include "build_info.h"
#include "error.h"
#include "experiment.h"
#include "fill.h"
#include "names.h"
#include "operation.h"
#include "parse_number.h"
#include "reporter_registry.h"
#include "sizes.h"
#include "stopping_rule.h"
#include "synchronizer.h"
#include "timing.h"
#include "warmup_rule.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>

namespace bench {
namespace {

constexpr const char *default_sizes = "8:64K";
constexpr const char *default_synchronizers = "mpi_barrier,harmonize";

// What the command line says, before it is checked.
struct Words {
    std::vector<std::string> operations;
    std::string sizes;
    std::vector<std::string> algorithms;
    std::string barrier_algorithm;
    std::string synchronizers = default_synchronizers;
    std::string timings = "per_call";
    std::string patterns = no_pattern;
    std::string delays;
    bool permute = false;
    std::string repetitions;
    std::string stopping = "fixed";
    std::string warmup = "fixed";
    std::string max_attempts;
    std::string parameters;
    bool validate = false;
    std::string observed;
    std::string tolerance;
    std::string trace_samples;
    CommonWords common;
};

std::string footer() {
    return fmt::format(
        "\nOperations:\n  {}\n\nSynchronizers:\n{}\nTiming schemes:\n{}\nArrival patterns:\n{}\nStopping rules:\n{}\n"
        "Warm-up rules:\n{}\nFormats and files:\n{}\n"
        "Parameters follow a name in parentheses, as one_late(rank=1); downbeat-bench list shows them all.\n\n"
        "Experiments, in place of operations (downbeat-bench clock --help):\n{}\n"
        "Exit status: 0 all measured, 1 failure, 2 bad arguments, 3 a cell lacks valid samples, 4 wrong results.",
        fill(valid_operations(), 2), describe_entries(all_synchronizers()), describe_entries(all_timings()),
        describe_entries(all_patterns()), describe_entries(all_stopping_rules()), describe_entries(all_warmup_rules()),
        describe_entries(all_reporters()), describe_entries(all_experiments()));
}

void declare(CommandLine &line, Words &words) {
    line.version(fmt::format("downbeat-bench {} ({})", build_version, build_revision));
    line.positional("operation", words.operations, "operations to measure");
    line.option("-m,--sizes", words.sizes, "SIZES",
                fmt::format("message sizes in bytes (of what, 'list operation' tells): powers of two from:to, a list, "
                            "or both [default {}]",
                            default_sizes));
    line.option("--with", words.parameters, "PARAMETERS",
                "parameters for all operations that have them, as root=1,type=int32");
    line.flag("--validate", words.validate, "look at the results of calls before each block of samples");
    line.option("--sync", words.synchronizers, "NAMES",
                fmt::format("synchronizers before each sample, a list [default {}]", default_synchronizers));
    line.repeated("--algorithm", words.algorithms, "CHOICES",
                  "the MPI library's own algorithms for an operation, as reduce=linear,binary,bcast=chain; "
                  "downbeat-bench list algorithm shows them [default: default, the library's choice]");
    line.option("--barrier-algorithm", words.barrier_algorithm, "NAMES",
                "the same for the MPI_Barrier that synchronizers call, a list [default default]");
    line.option("--timing", words.timings, "NAMES",
                "timing schemes: what the stamps enclose, a list [default per_call]");
    line.option("--pattern", words.patterns, "NAMES",
                "arrival patterns, a list; any but none is compared with none [default none]");
    line.option("--delay", words.delays, "DELAYS",
                "largest delays of the patterns, a list: with a unit (10us), or multiples of the operation's own time "
                "without delays (1.5x)");
    line.flag("--permute", words.permute, "permute the patterns over the ranks, by the seed");
    line.option("-r,--repetitions", words.repetitions, "N",
                "valid samples per cell; short for --stop 'fixed(samples=N)'");
    line.option("--stop", words.stopping, "RULE", "how long a cell is measured [default fixed]");
    line.option("--warmup", words.warmup, "RULE",
                "what runs before each block of samples and does not count; a number is short for 'fixed(calls=N)' "
                "[default fixed]");
    line.option("--max-attempts", words.max_attempts, "N",
                "give a block up after so many attempts per valid sample wanted [default 20]");
    line.option("--observe", words.observed, "RANK", "rank whose own time is metric latency_observed [default 0]");
    line.option("--tolerance", words.tolerance, "SECONDS",
                "a rank that starts later than this after its time makes the sample invalid "
                "[default: setting tolerance of the library, 0.5e-6]");
    line.option("--trace-samples", words.trace_samples, "N",
                "a trace shows the first N samples of each cell, without the warm-up [default 100]");
    words.common.declare(line, "of the random order of the blocks, of random patterns and permutations");
    line.footer(footer());
}

std::vector<std::string> delaying_patterns() {
    std::vector<std::string> names = names_of(all_patterns());
    names.erase(std::remove(names.begin(), names.end(), no_pattern), names.end());
    return names;
}

/// Every timing scheme with every synchronizer, but for timing scheme window, which has synchronizer window and no
/// other, and brings it along.
std::vector<SynchronizedTiming> check_timings(const CommandLine &line, const Words &words) {
    std::vector<Part> synchronizers = parse_parts("synchronizer", words.synchronizers, all_synchronizers());
    const std::vector<Part> timings = parse_parts("timing scheme", words.timings, all_timings());
    const auto is_window = [](const Part &part) { return part.name() == window_name; };
    const bool windows = std::any_of(timings.begin(), timings.end(), is_window);
    if (windows && timings.size() == 1) {
        const auto other = std::find_if_not(synchronizers.begin(), synchronizers.end(), is_window);
        if (line.given("--sync") && other != synchronizers.end()) {
            throw Error::usage(
                fmt::format("timing scheme window goes with synchronizer window alone; {} has none", other->text()));
        }
        synchronizers.erase(std::remove_if(synchronizers.begin(), synchronizers.end(), std::not_fn(is_window)),
                            synchronizers.end());
    }
    if (windows && std::none_of(synchronizers.begin(), synchronizers.end(), is_window)) {
        synchronizers.push_back(parse_part("synchronizer", window_name, all_synchronizers()));
    }
    std::vector<SynchronizedTiming> pairs;
    for (const Part &synchronizer : synchronizers) {
        for (const Part &timing : timings) {
            const bool same = windows && is_window(synchronizer) && timing.name() == "per_call"; // as window
            if ((!is_window(timing) || is_window(synchronizer)) && !same) {
                pairs.push_back({synchronizer, timing});
            }
        }
    }
    return pairs;
}

/// The factor of "1.5x".
double parse_multiple(const std::string &text) {
    double factor = 0.0;
    const char *const end = text.data() + text.size() - 1;
    const auto [rest, error] = std::from_chars(text.data(), end, factor);
    if (error != std::errc{} || rest != end || !(factor >= 1e-3 && factor <= 1e6)) {
        throw Error::usage(fmt::format(
            "--delay cannot be '{}'; valid are multiples from 0.001x to 1000000x, and durations, as 50us", text));
    }
    return factor;
}

void check_delays(const CommandLine &line, const Words &words, Options &options) {
    options.patterns = parse_parts("arrival pattern", words.patterns, all_patterns());
    const auto is_none = [](const Part &pattern) { return pattern.name() == no_pattern; };
    const auto delaying = std::find_if_not(options.patterns.begin(), options.patterns.end(), is_none);
    if (delaying == options.patterns.end()) {
        for (const char *option : {"--delay", "--permute"}) {
            if (line.given(option)) {
                throw Error::usage(fmt::format("{} is given, but no arrival pattern that delays ranks; these do: {}",
                                               option, join(delaying_patterns())));
            }
        }
        return;
    }
    const std::string first = delaying->text();
    if (std::none_of(options.patterns.begin(), options.patterns.end(), is_none)) {
        options.patterns.insert(options.patterns.begin(), parse_part("arrival pattern", no_pattern, all_patterns()));
    }
    options.permute = words.permute;
    if (!line.given("--delay")) {
        for (const Part &pattern : options.patterns) {
            if (!is_none(pattern) && !find_by_name(all_patterns(), pattern.name()).knows_delay) {
                throw Error::usage(fmt::format("arrival pattern {} needs --delay, as --delay 10us,50us or --delay 1.5x",
                                               pattern.text()));
            }
        }
        return;
    }
    const std::vector<std::string> delays = split(words.delays);
    for (const std::string &text : delays) {
        const bool multiple = text.ends_with('x');
        const AskedDelay delay = multiple ? AskedDelay{std::nullopt, parse_multiple(text)}
                                          : AskedDelay{parse_duration("--delay", text), std::nullopt};
        if (std::find(options.delays.begin(), options.delays.end(), delay) != options.delays.end()) {
            throw Error::usage(fmt::format("delay '{}' is given twice; name each once", text));
        }
        if (multiple || *delay.seconds > 0.0) { // without: pattern none
            options.delays.push_back(delay);
        }
    }
    if (options.delays.empty()) {
        throw Error::usage(
            fmt::format("--delay cannot be '{}' alone; without delay there is no arrival pattern", words.delays));
    }
}

Part check_stopping(const CommandLine &line, const Words &words) {
    if (!line.given("--repetitions")) {
        return parse_part("stopping rule", words.stopping, all_stopping_rules());
    }
    if (line.given("--stop")) {
        throw Error::usage("--repetitions and --stop are both given; --repetitions N is short for "
                           "--stop 'fixed(samples=N)'");
    }
    const long samples = parse_number("--repetitions", words.repetitions, 1L, 1'000'000'000L);
    return parse_part("stopping rule", fmt::format("fixed(samples={})", samples), all_stopping_rules());
}

Part check_warmup(const Words &words) {
    const bool number = !words.warmup.empty() && words.warmup.find_first_not_of("0123456789") == std::string::npos;
    return parse_part("warm-up rule", number ? fmt::format("fixed(calls={})", words.warmup) : words.warmup,
                      all_warmup_rules());
}

AlgorithmChoices choose_algorithms(const CommandLine &line, const Words &words, const Options &options) {
    if (line.given("--barrier-algorithm") && words.barrier_algorithm.empty()) {
        throw Error::usage("--barrier-algorithm is empty; valid is a list of algorithms");
    }
    const bool barriers = std::any_of(options.timings.begin(), options.timings.end(), [](const auto &timing) {
        const Part &synchronizer = timing.synchronizer;
        return find_by_name(all_synchronizers(), synchronizer.name()).calls_mpi_barrier(synchronizer);
    });
    std::vector<std::string> operations;
    for (const AskedOperation &operation : options.operations) {
        operations.push_back(operation.part.name());
    }
    return check_algorithms(words.algorithms, words.barrier_algorithm, operations, barriers);
}

std::vector<std::string> trace_suffixes() {
    std::vector<std::string> suffixes;
    for (const ReporterInfo &reporter : all_reporters()) {
        if (reporter.is_trace) {
            suffixes.push_back(reporter.suffix);
        }
    }
    return suffixes;
}

void check_traces(const CommandLine &line, const Words &words, Options &options) {
    if (!line.given("--trace-samples")) {
        return;
    }
    if (std::none_of(options.outputs.begin(), options.outputs.end(),
                     [](const std::string &path) { return find_reporter(path).is_trace; })) {
        throw Error::usage(fmt::format("--trace-samples is given, but no file that holds a trace; these do: {}",
                                       join(trace_suffixes())));
    }
    options.trace_samples = parse_number("--trace-samples", words.trace_samples, 1L, 1'000'000'000L);
}

Options check(const CommandLine &line, const Words &words, int ranks) {
    Options options;
    options.operations =
        parse_operations(words.operations, line.given("--with") ? split(words.parameters) : std::vector<std::string>{});
    options.validate = words.validate;
    options.timings = check_timings(line, words);
    options.algorithms = choose_algorithms(line, words, options);
    check_delays(line, words, options);
    options.stopping = check_stopping(line, words);
    options.warmup = check_warmup(words);

    if (any_sized(options.operations)) {
        options.sizes = parse_sizes(line.given("--sizes") ? words.sizes : default_sizes);
    } else if (line.given("--sizes")) {
        throw Error::usage("--sizes is given, but no operation that has a size");
    }
    check_sizes(options.operations, options.sizes, ranks);

    if (line.given("--observe")) {
        options.observed = parse_number("--observe", words.observed, 0, ranks - 1);
    }
    if (line.given("--max-attempts")) {
        options.max_attempts = parse_number("--max-attempts", words.max_attempts, 1L, 1'000'000L);
    }
    if (line.given("--tolerance")) {
        options.tolerance = parse_number("--tolerance", words.tolerance, 0.0, 1.0);
    }
    words.common.check(line, options, find_reporter, cell_formats());
    check_traces(line, words, options);
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
