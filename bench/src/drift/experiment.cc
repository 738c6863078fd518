#include "experiment.h"

#include "command_line.h"
#include "dataset_writer.h"
#include "drift/results.h"
#include "experiment_session.h"
#include "mpi_check.h"
#include "offset_rounds.h"
#include "parse_number.h"
#include "part_option.h"
#include "progress.h"
#include "quiet.h"
#include "reporter_registry.h"
#include "turns.h"

#include <chrono>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <thread>
#include <utility>

namespace bench {
namespace {

constexpr long fewest_measurements = 4; // two on either side of the middle
constexpr long most_measurements = 10'000'000;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Drift : public Experiment {
public:
    Drift(DriftOptions options, CommonOptions common) : options_(std::move(options)), common_(std::move(common)) {}

    ExitStatus run(const Communicator &comm, const std::string &command) override {
        ExperimentSession session(comm, common_, command);
        std::vector<DriftSeries> series;
        for (const Pair &pair : options_.pairs) {
            series.push_back({pair, {}, {}, {}, {}});
        }
        std::vector<double> started;
        const auto count = static_cast<std::size_t>(options_.count());
        Progress progress(common_.quiet, count);
        barrier_quietly(comm);
        const double begin = now();
        for (std::size_t i = 0; i < count; ++i) {
            if (comm.is_root()) {
                const double left = begin + static_cast<double>(i) * options_.interval - now();
                std::this_thread::sleep_for(std::chrono::duration<double>(left)); // at once where it is negative
            }
            barrier_quietly(comm);
            started.push_back(now() - begin);
            measure(comm, series);
            if (comm.is_root()) {
                progress.update(i + 1, fmt::format("{} of {} rounds", i + 1, count));
            }
        }
        return session.finish([&] { return study(session.context(), started, std::move(series)); });
    }

private:
    void measure(const Communicator &comm, std::vector<DriftSeries> &series) const {
        std::vector<std::vector<double>> found(series.size(), std::vector<double>(4));
        take_turns(comm, options_.pairs, [&](std::size_t i, const Pair &pair) {
            const Downbeat_offset offset =
                measure_surest_offset(comm.handle(), pair, DOWNBEAT_LOCAL, options_.estimator.c_str(), drift_rounds);
            found[i] = {offset.at, offset.offset, offset.bound, offset.rtt};
        });
        for (std::size_t i = 0; i < series.size(); ++i) {
            bring_to_root(comm, options_.pairs[i].asker, found[i]);
            series[i].at.push_back(found[i][0]);
            series[i].offset.push_back(found[i][1]);
            series[i].bound.push_back(found[i][2]);
            series[i].rtt.push_back(found[i][3]);
        }
    }

    Findings study(const Context &context, const std::vector<double> &started, std::vector<DriftSeries> series) const {
        std::vector<DriftPair> pairs;
        for (DriftSeries &one : series) {
            pairs.push_back(study_drift(std::move(one)));
        }
        std::vector<std::string> warnings;
        if (started.back() > options_.duration + options_.interval) {
            warnings.push_back(fmt::format("a round of measurements took longer than the interval of {} s: the run "
                                           "lasted {:.1f} s; the table says when each round really began; raise "
                                           "--interval or name fewer pairs",
                                           options_.interval, started.back()));
        }
        return {drift_dataset(context, options_, started, pairs), drift_table(options_, started, pairs), warnings};
    }

    DriftOptions options_;
    CommonOptions common_;
};

ParsedExperiment parse(int argc, char **argv, int ranks) {
    CommandLine line("Watches the local clocks of pairs of ranks drift apart. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench drift");
    std::string pairs = "0:1";
    std::string duration;
    std::string interval;
    std::string estimator;
    CommonWords words;
    line.option("--pairs", pairs, "PAIRS", "pairs of ranks, asker first, a list, as 0:1,0:2 [default 0:1]");
    line.option("--duration", duration, "SECONDS", "of the whole run [default 60]");
    line.option("--interval", interval, "SECONDS", "from one measurement of all pairs to the next [default 0.5]");
    line.option(
        "--estimator", estimator, "OFFSET",
        fmt::format("what measures offsets (downbeat-bench list offset) [default {}]", part_names("offset").front()));
    words.declare(line, "");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    DriftOptions options;
    options.pairs = parse_pairs(pairs, ranks);
    if (line.given("--duration")) {
        options.duration = parse_number("--duration", duration, 0.001, 1e6);
    }
    if (line.given("--interval")) {
        options.interval = parse_number("--interval", interval, 1e-6, 1e6);
    }
    if (options.count() < fewest_measurements || options.count() > most_measurements) {
        throw Error::usage(fmt::format("{} s in steps of {} s are {} measurements; valid are {} to {}",
                                       options.duration, options.interval, options.count(), fewest_measurements,
                                       most_measurements));
    }
    options.estimator = line.given("--estimator") ? estimator : part_names("offset").front();
    check_part("--estimator", "offset", options.estimator);
    CommonOptions common;
    words.check(line, common, find_dataset_writer, experiment_formats());
    return std::make_unique<Drift>(options, common);
}

} // namespace

ExperimentInfo experiments::drift() {
    return {"drift", "how the local clocks of pairs of ranks drift apart over time", parse};
}

} // namespace bench
