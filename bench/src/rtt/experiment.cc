#include "experiment.h"

#include "command_line.h"
#include "dataset_writer.h"
#include "experiment_session.h"
#include "mpi_check.h"
#include "parse_number.h"
#include "progress.h"
#include "quiet.h"
#include "reporter_registry.h"
#include "rtt/results.h"
#include "turns.h"

#include <algorithm>
#include <chrono>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <thread>
#include <utility>

namespace bench {
namespace {

// Exchanges in memory at a time.
constexpr long largest_chunk = 10'000;

/// What one pair recorded, at the asker and then at rank 0. Seconds on the asker's local clock.
struct Recording {
    std::vector<double> sent;
    std::vector<double> rtt;
};

/// Called by both ranks of the pair.
Recording record(const Communicator &comm, const Pair &pair, const RttOptions &options) {
    const bool paced = options.interval > 0.0;
    const std::chrono::duration<double> interval(options.interval);
    std::vector<Downbeat_exchange> chunk(static_cast<std::size_t>(paced ? 1 : std::min(options.count, largest_chunk)));
    Recording recording;
    std::int64_t first = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (long done = 0; done < options.count;) {
        const long count = std::min(options.count - done, static_cast<long>(chunk.size()));
        if (paced && comm.rank() == pair.asker) {
            std::this_thread::sleep_until(begin + static_cast<double>(done) * interval);
        }
        check(Downbeat_record(comm.handle(), pair.asker, pair.answerer, DOWNBEAT_LOCAL, static_cast<int>(count),
                              chunk.data()),
              "Downbeat_record");
        first = done == 0 ? chunk.front().sent : first;
        for (long i = 0; i < count && comm.rank() == pair.asker; ++i) {
            const Downbeat_exchange &exchange = chunk[static_cast<std::size_t>(i)];
            recording.sent.push_back(static_cast<double>(exchange.sent - first) * 1e-9);
            recording.rtt.push_back(static_cast<double>(exchange.received - exchange.sent) * 1e-9);
        }
        done += count;
    }
    return recording;
}

class Rtt : public Experiment {
public:
    Rtt(RttOptions options, CommonOptions common) : options_(std::move(options)), common_(std::move(common)) {}

    ExitStatus run(const Communicator &comm, const std::string &command) override {
        ExperimentSession session(comm, common_, command);
        Progress progress(common_.quiet, options_.pairs.size());
        std::vector<Recording> recordings;
        for (const Pair &pair : options_.pairs) {
            Recording recording;
            take_turns(comm, {pair}, [&](std::size_t, const Pair &) { recording = record(comm, pair, options_); });
            recording.sent.resize(static_cast<std::size_t>(options_.count));
            recording.rtt.resize(static_cast<std::size_t>(options_.count));
            bring_to_root(comm, pair.asker, recording.sent);
            bring_to_root(comm, pair.asker, recording.rtt);
            recordings.push_back(std::move(recording));
            if (comm.is_root()) {
                progress.update(recordings.size(), fmt::format("pair {}", describe(pair)));
            }
        }
        barrier_quietly(comm);
        return session.finish([&]() -> Findings {
            std::vector<RttPair> pairs;
            for (std::size_t i = 0; i < recordings.size(); ++i) {
                pairs.push_back(study_rtts(options_.pairs[i], std::move(recordings[i].sent),
                                           std::move(recordings[i].rtt), options_.resamples, session.seed()));
            }
            return {rtt_dataset(session.context(), options_, pairs), rtt_table(options_, session.seed(), pairs), {}};
        });
    }

private:
    RttOptions options_;
    CommonOptions common_;
};

ParsedExperiment parse(int argc, char **argv, int ranks) {
    CommandLine line("Records round trips between pairs of ranks, and studies after how many of them one may stop. Run "
                     "under mpirun, mpiexec or srun.",
                     "downbeat-bench rtt");
    std::string pairs = "0:1";
    std::string count;
    std::string interval;
    std::string resamples;
    CommonWords words;
    line.option("--pairs", pairs, "PAIRS", "pairs of ranks, asker first, a list, as 0:1,0:2 [default 0:1]");
    line.option("--count", count, "N", "round trips per pair [default 50000]");
    line.option("--interval", interval, "SECONDS", "from one round trip to the next [default 0: back to back]");
    line.option("--resamples", resamples, "N", "runs of the stop rule for each N [default 1000]");
    words.declare(line, "of the resampling");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    RttOptions options;
    options.pairs = parse_pairs(pairs, ranks);
    if (line.given("--count")) {
        options.count = parse_number("--count", count, 1L, 100'000'000L);
    }
    if (line.given("--interval")) {
        options.interval = parse_number("--interval", interval, 0.0, 3600.0);
    }
    if (line.given("--resamples")) {
        options.resamples = parse_number("--resamples", resamples, 1L, 1'000'000L);
    }
    CommonOptions common;
    words.check(line, common, find_dataset_writer, experiment_formats());
    return std::make_unique<Rtt>(options, common);
}

} // namespace

ExperimentInfo experiments::rtt() {
    return {"rtt", "distribution of round trips between pairs of ranks, and when to stop measuring", parse};
}

} // namespace bench
