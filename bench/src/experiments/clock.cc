// `downbeat-bench clock`: parses the command line, measures clock synchronization schemes (ClockMeasurement), and
// reports the results.
#include "experiments/subcommand.h"

#include "experiments/clock_measure.h"
#include "experiments/clock_results.h"
#include "mpi/global_clock.h"
#include "run/command_line.h"
#include "text/parse.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

namespace bench {
namespace {

/// The parsed command line. The ranks to check (ClockOptions::checked) are drawn later, when the seed is known.
struct Request {
    ClockOptions options;
    std::optional<int> sample; // number of ranks to draw; empty: all ranks
    CommonOptions common;
};

ExitStatus run(const Communicator &comm, const std::string &command, const Request &request) {
    Session session(comm, request.common, command);
    ClockOptions options = request.options;
    if (request.sample) {
        options.checked = draw_sample(comm.size(), *request.sample, session.seed());
    } else {
        options.checked.resize(static_cast<std::size_t>(comm.size() - 1));
        std::iota(options.checked.begin(), options.checked.end(), 1);
    }
    if (comm.is_root() && stats_of(comm.handle()).clock_domains == 1) {
        print_error(fmt::format("warning: {}", shared_clock_warning)); // before the measurement, which takes a minute
    }
    const bool validation = clock_setting(session.context(), "validation") != "off";
    const ClockResults results =
        ClockMeasurement(comm, options, validation, session.seed(), request.common.quiet).run();
    return session.finish([&]() -> Findings {
        const ClockSummary summary = summarize_clocks(results);
        return {clock_dataset(session.context(), results, summary), clock_head(session.context(), results),
                find_clock_warnings(results, summary)};
    });
}

std::vector<std::string> parse_schemes(const std::string &text) {
    const std::vector<std::string> schemes = split_outside_parentheses(text);
    for (const std::string &scheme : schemes) {
        check_component("--schemes", "scheme", scheme);
    }
    check_no_duplicates("scheme", schemes);
    return schemes;
}

/// All schemes except "none", which does not correct clocks.
std::vector<std::string> correcting_schemes() {
    std::vector<std::string> schemes = component_names("scheme");
    std::erase(schemes, "none");
    return schemes;
}

std::vector<double> parse_waits(const std::string &text) {
    std::vector<double> waits;
    for (const std::string &word : split(text)) {
        const double wait = parse_number("--waits", word, 0.0, 3600.0);
        if (std::find(waits.begin(), waits.end(), wait) != waits.end()) {
            throw Error::usage(fmt::format("wait '{}' is given twice in '{}'; give it once", word, text));
        }
        waits.push_back(wait);
    }
    return waits;
}

std::optional<int> parse_sample(const std::string &text, int ranks) {
    if (text == "all") {
        return std::nullopt;
    }
    try {
        return parse_number("--sample", text, 1, upper_half(ranks));
    } catch (const Error &) {
        // Errors are largest in the upper half of the ranks (draw_sample), so a sample has only ranks of it.
        throw Error::usage(fmt::format("--sample cannot be '{}'; use all, or 1 to {} (the ranks of the upper half)",
                                       text, upper_half(ranks)));
    }
}

ParsedWork parse(int argc, char **argv, int ranks) {
    CommandLine line("Measures clock synchronization schemes: their duration, and the error of the global clock right "
                     "afterwards and later. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench clock");
    Request request;
    ClockOptions &options = request.options;
    options.schemes = correcting_schemes();
    options.estimator = component_names("offset").front();
    std::string waits = "0,5";
    std::string sample = "all";
    line.option(
        "--schemes", "SCHEMES", [&](const std::string &word) { options.schemes = parse_schemes(word); },
        "schemes, a list, e.g. hca3(fit=500),skampi; downbeat-bench list scheme shows them [default: all but none]");
    line.word("--waits", "SECONDS", waits, "times after a synchronization at which to check the clocks, a list");
    line.number("--rounds", "N", options.rounds, 1L, 1'000'000L, "measure each offset N times and keep the smallest");
    line.number("-r,--repetitions", "N", options.repetitions, 1L, 1'000'000L, "synchronizations per scheme");
    line.word("--sample", "N", sample,
              "check N ranks, drawn by the seed from the upper half, whose errors are largest, or all");
    line.word("--estimator", "OFFSET", options.estimator, "offset estimator; downbeat-bench list offset shows them");
    request.common.declare(line, "seed for the order of the schemes and the sample of ranks");
    line.footer("Set DOWNBEAT_VALIDATION, e.g. to offset=1,skew=1e-5,wander=1e-6, to get true\n"
                "errors in addition to measured ones. If ranks share a clock, set it, or\n"
                "DOWNBEAT_SHARE=never.");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    if (ranks < 2) {
        throw Error::usage("clocks are compared between two ranks, but there is only one; start the program with the "
                           "launcher of its MPI library, e.g. mpirun -n 2");
    }
    options.waits = parse_waits(waits);
    request.sample = parse_sample(sample, ranks);
    check_component("--estimator", "offset", options.estimator);
    request.common.check();
    return [request](const Communicator &comm, const std::string &command) { return run(comm, command, request); };
}

} // namespace

SubcommandInfo subcommands::clock() {
    return {{"clock", "quality and duration of clock synchronization schemes"}, parse};
}

} // namespace bench
