// `downbeat-bench drift`: measures the offsets between the local clocks of pairs of ranks at a constant interval.
#include "experiments/subcommand.h"

#include "experiments/drift_results.h"
#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "mpi/offsets.h"
#include "mpi/steady_time.h"
#include "output/output.h"
#include "run/command_line.h"

#include <downbeat/clock.h>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

constexpr long min_measurements = 4; // a line needs two points in each half
constexpr long max_measurements = 10'000'000;

/// Collective. Measures every pair once, and appends the results to `series` on rank 0. Other ranks append values
/// without meaning.
void measure(const Communicator &comm, const DriftOptions &options, std::vector<DriftSeries> &series) {
    enum Value : std::size_t { at, offset, bound, rtt, values }; // values of a pair, in this order; `values`: number
    std::vector<std::vector<double>> measured(series.size(), std::vector<double>(values));
    take_turns(comm, options.pairs, [&](std::size_t i, const Pair &pair) {
        const Downbeat_offset tightest = measure_offset_with_smallest_bound(
            comm.handle(), pair, DOWNBEAT_LOCAL, options.estimator.c_str(), static_cast<int>(options.rounds));
        measured[i] = {tightest.at, tightest.offset, tightest.bound, tightest.rtt};
    });
    for (std::size_t i = 0; i < series.size(); ++i) {
        send_to_root(comm, options.pairs[i].asker, measured[i]);
        series[i].at.push_back(measured[i][at]);
        series[i].offset.push_back(measured[i][offset]);
        series[i].bound.push_back(measured[i][bound]);
        series[i].rtt.push_back(measured[i][rtt]);
    }
}

/// Fits lines to the series, and collects the results. `started`: begin of each round, s since the first round.
Findings study(const Context &context, const DriftOptions &options, const std::vector<double> &started,
               std::vector<DriftSeries> series) {
    std::vector<DriftPair> pairs;
    for (DriftSeries &of_pair : series) {
        pairs.push_back(study_drift(std::move(of_pair)));
    }
    std::vector<std::string> warnings;
    if (started.back() > options.duration + options.interval) {
        warnings.push_back(
            fmt::format("a round of measurements took longer than the interval of {} s, so the run lasted {:.1f} s; "
                        "the table shows when each round began; raise --interval or name fewer pairs",
                        options.interval, started.back()));
    }
    return {.data = drift_dataset(context, options, started, pairs), .head = "", .warnings = warnings};
}

/// Collective. Measures all pairs in rounds at a constant interval, and writes the results.
ExitStatus run(const Communicator &comm, const std::string &command, const DriftOptions &options,
               const CommonOptions &common) {
    Session session(comm, common, command);
    std::vector<DriftSeries> series;
    for (const Pair &pair : options.pairs) {
        series.push_back({.pair = pair, .at = {}, .offset = {}, .bound = {}, .rtt = {}});
    }
    std::vector<double> started;
    const auto count = static_cast<std::size_t>(options.count());
    Progress progress(common.quiet);
    barrier_quietly(comm);
    const double begin = steady_time();
    for (std::size_t i = 0; i < count; ++i) {
        if (comm.is_root()) {
            sleep_for(begin + static_cast<double>(i) * options.interval - steady_time());
        }
        barrier_quietly(comm);
        started.push_back(steady_time() - begin);
        measure(comm, options, series);
        if (comm.is_root()) {
            progress.update(i + 1, count - i - 1);
        }
    }
    if (comm.is_root()) {
        progress.finish(fmt::format("{} of {} rounds complete", started.size(), count));
    }
    return session.finish([&] { return study(session.context(), options, started, std::move(series)); });
}

ParsedWork parse(int argc, char **argv, int ranks) {
    CommandLine line("Measures how the local clocks of pairs of ranks drift apart. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench drift");
    DriftOptions options;
    CommonOptions common;
    std::string pairs = "0:1";
    options.estimator = component_names("offset").front();
    line.word("--pairs", "PAIRS", pairs, "pairs of ranks, asker first, a list, e.g. 0:1,0:2");
    line.number("--duration", "SECONDS", options.duration, 0.001, 1e6, "length of the run");
    line.number("--interval", "SECONDS", options.interval, 1e-6, 1e6,
                "time from one measurement of all pairs to the next");
    line.word("--estimator", "OFFSET", options.estimator, "offset estimator; downbeat-bench list offset shows them");
    line.number("--rounds", "N", options.rounds, 1L, 1'000'000L,
                "measure each offset N times and keep the one with the smallest bound");
    common.declare(line, "");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    options.pairs = parse_pairs(pairs, ranks);
    if (options.count() < min_measurements || options.count() > max_measurements) {
        throw Error::usage(fmt::format("{} s in steps of {} s make {} measurements; use {} to {}", options.duration,
                                       options.interval, options.count(), min_measurements, max_measurements));
    }
    check_component("--estimator", "offset", options.estimator);
    common.check();
    return [options, common](const Communicator &comm, const std::string &command) {
        return run(comm, command, options, common);
    };
}

} // namespace

SubcommandInfo subcommands::drift() { return {{"drift", "how the local clocks of pairs of ranks drift apart"}, parse}; }

} // namespace bench
