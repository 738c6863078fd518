#include "experiment.h"

#include "clock/measure.h"
#include "clock/results.h"
#include "command_line.h"
#include "dataset_writer.h"
#include "experiment_session.h"
#include "names.h"
#include "parse_number.h"
#include "part_option.h"
#include "reporter_registry.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

namespace bench {
namespace {

constexpr const char *default_waits = "0,5";

struct Words {
    std::string schemes;
    std::string waits = default_waits;
    std::string rounds;
    std::string repetitions;
    std::string sample = "all";
    std::string estimator;
    CommonWords common;
};

/// The options, but for the sample, which may have to be drawn by a seed that is not known yet.
struct Request {
    ClockOptions options;
    std::optional<int> sample; // ranks to draw; all if none
    CommonOptions common;
};

class Clock : public Experiment {
public:
    explicit Clock(Request request) : request_(std::move(request)) {}

    ExitStatus run(const Communicator &comm, const std::string &command) override {
        ExperimentSession session(comm, request_.common, command);
        ClockOptions options = request_.options;
        if (request_.sample) {
            options.checked = draw_sample(comm.size(), *request_.sample, session.seed());
        } else {
            options.checked.resize(static_cast<std::size_t>(comm.size() - 1));
            std::iota(options.checked.begin(), options.checked.end(), 1);
        }
        const std::string validation = clock_setting(session.context(), "validation");
        const ClockResults results =
            ClockMeasurement(comm, options, validation != "off", session.seed(), request_.common.quiet).run();
        return session.finish([&]() -> Findings {
            const ClockSummary summary = summarize(results);
            return {clock_dataset(session.context(), results, summary),
                    clock_table(results, summary, session.seed(), validation), find_clock_warnings(results, summary)};
        });
    }

private:
    Request request_;
};

void declare(CommandLine &line, Words &words) {
    line.option("--schemes", words.schemes, "SCHEMES",
                "schemes, a list, as hca3(fit=500),skampi (downbeat-bench list scheme) [default: all]");
    line.option("--waits", words.waits, "SECONDS",
                fmt::format("when to look at the clocks after a synchronization, a list [default {}]", default_waits));
    line.option("--rounds", words.rounds, "N", "the smallest offset of so many counts [default 10]");
    line.option("-r,--repetitions", words.repetitions, "N", "synchronizations per scheme [default 10]");
    line.option("--sample", words.sample, "N",
                "check so many ranks, drawn by the seed from the upper half, or all [default all]");
    line.option(
        "--estimator", words.estimator, "OFFSET",
        fmt::format("what measures offsets (downbeat-bench list offset) [default {}]", part_names("offset").front()));
    words.common.declare(line, "of the order of the schemes and of the sample");
    line.footer("\nSet DOWNBEAT_VALIDATION, as offset=1,skew=1e-5,wander=1e-6, to know true errors beside measured "
                "ones.\nRanks that share a clock need that, or DOWNBEAT_SHARE=never.");
}

std::vector<std::string> parse_schemes(const std::string &text) {
    const std::vector<std::string> schemes = split_outside_parentheses(text);
    for (const std::string &scheme : schemes) {
        check_part("--schemes", "scheme", scheme);
    }
    check_names("scheme", schemes, schemes); // refuses what is given twice
    return schemes;
}

std::vector<double> parse_waits(const std::string &text) {
    std::vector<double> waits;
    for (const std::string &word : split(text)) {
        const double wait = parse_number("--waits", word, 0.0, 3600.0);
        if (std::find(waits.begin(), waits.end(), wait) != waits.end()) {
            throw Error::usage(fmt::format("wait '{}' is given twice in '{}'; name each once", word, text));
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
        throw Error::usage(fmt::format("--sample cannot be '{}'; valid are all, and 1 to {}, the ranks of the upper "
                                       "half",
                                       text, upper_half(ranks)));
    }
}

Request check(const CommandLine &line, const Words &words, int ranks) {
    if (ranks < 2) {
        throw Error::usage("there is one rank only, and clocks are compared between two; start the program with a "
                           "launcher of the MPI library that it was built with, as mpirun -n 2");
    }
    Request request;
    ClockOptions &options = request.options;
    options.schemes = line.given("--schemes") ? parse_schemes(words.schemes) : part_names("scheme");
    options.waits = parse_waits(words.waits);
    if (line.given("--rounds")) {
        options.rounds = parse_number("--rounds", words.rounds, 1L, 1'000'000L);
    }
    if (line.given("--repetitions")) {
        options.repetitions = parse_number("--repetitions", words.repetitions, 1L, 1'000'000L);
    }
    request.sample = parse_sample(words.sample, ranks);
    options.estimator = line.given("--estimator") ? words.estimator : part_names("offset").front();
    check_part("--estimator", "offset", options.estimator);
    words.common.check(line, request.common, find_dataset_writer, experiment_formats());
    return request;
}

ParsedExperiment parse(int argc, char **argv, int ranks) {
    CommandLine line("Measures how good clock synchronization schemes are: duration, and the error of the global clock "
                     "directly after and later. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench clock");
    Words words;
    declare(line, words);
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    return std::make_unique<Clock>(check(line, words, ranks));
}

} // namespace

ExperimentInfo experiments::clock() {
    return {"clock", "quality and duration of clock synchronization schemes", parse};
}

} // namespace bench
