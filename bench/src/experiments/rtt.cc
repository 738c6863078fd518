// `downbeat-bench rtt`: records round trips between the ranks of pairs.
#include "experiments/subcommand.h"

#include "experiments/rtt_results.h"
#include "mpi/communicator.h"
#include "mpi/offsets.h"
#include "output/output.h"
#include "run/command_line.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <thread>
#include <utility>

namespace bench {
namespace {

constexpr long max_chunk = 10'000; // maximum number of exchanges in a call of Downbeat_record; limits the memory

constexpr double nanosecond = 1e-9; // in seconds

/// Called by both ranks of the pair. Returns the round trips on the asker, and none on the answerer.
RoundTrips record(const Communicator &comm, const Pair &pair, const RttOptions &options) {
    const bool paced = options.interval > 0.0; // a call of Downbeat_record per exchange
    const std::chrono::duration<double> interval(options.interval);
    std::vector<Downbeat_exchange> chunk(static_cast<std::size_t>(paced ? 1 : std::min(options.count, max_chunk)));
    RoundTrips trips{};
    std::int64_t first = 0; // time at which the first request was sent, ns
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
            trips.sent.push_back(static_cast<double>(exchange.sent - first) * nanosecond);
            trips.rtt.push_back(static_cast<double>(exchange.received - exchange.sent) * nanosecond);
            trips.difference.push_back(static_cast<double>(exchange.remote - exchange.sent) * nanosecond);
        }
        done += count;
    }
    return trips;
}

/// Collective. Returns the true lead of the answerer's local clock over the asker's on rank 0, s; NaN without the
/// validation clock.
double true_offset(const Communicator &comm, const Pair &pair) {
    double offset = 0.0;
    if (Downbeat_true_offset(comm.handle(), DOWNBEAT_LOCAL, &offset) != MPI_SUCCESS) {
        offset = std::nan("");
    }
    const std::vector<double> offsets = gather_quietly(comm, {offset});
    return offsets.empty() // on other ranks, whose result is not used
               ? offset
               : offsets[static_cast<std::size_t>(pair.answerer)] - offsets[static_cast<std::size_t>(pair.asker)];
}

ExitStatus run(const Communicator &comm, const std::string &command, const RttOptions &options,
               const CommonOptions &common) {
    Session session(comm, common, command);
    Progress progress(common.quiet);
    std::vector<RoundTrips> recorded;
    for (const Pair &pair : options.pairs) {
        RoundTrips trips{};
        const double before = true_offset(comm, pair);
        take_turns(comm, {pair}, [&](std::size_t, const Pair &) { trips = record(comm, pair, options); });
        trips.true_before = before;
        trips.true_after = true_offset(comm, pair);
        for (std::vector<double> *series : {&trips.sent, &trips.rtt, &trips.difference}) {
            series->resize(static_cast<std::size_t>(options.count)); // rank 0 needs the size of the message
            send_to_root(comm, pair.asker, *series);
        }
        recorded.push_back(std::move(trips));
        if (comm.is_root()) {
            progress.update(recorded.size(), options.pairs.size() - recorded.size());
        }
    }
    if (comm.is_root()) {
        progress.finish(fmt::format("{} of {} pairs complete", recorded.size(), options.pairs.size()));
    }
    barrier_quietly(comm);
    return session.finish([&]() -> Findings {
        std::vector<RttPair> pairs;
        for (std::size_t i = 0; i < recorded.size(); ++i) {
            pairs.push_back(study_rtts(options.pairs[i], std::move(recorded[i]), options.resamples, session.seed()));
        }
        return {.data = rtt_dataset(session.context(), options, pairs), .head = "", .warnings = {}};
    });
}

ParsedWork parse(int argc, char **argv, int ranks) {
    CommandLine line("Records round trips between pairs of ranks, and studies after how many a measurement may stop. "
                     "Run under mpirun, mpiexec or srun.",
                     "downbeat-bench rtt");
    RttOptions options;
    CommonOptions common;
    std::string pairs = "0:1";
    line.word("--pairs", "PAIRS", pairs, "pairs of ranks, asker first, a list, e.g. 0:1,0:2");
    line.number("--count", "N", options.count, 1L, 100'000'000L, "round trips per pair");
    line.number("--interval", "SECONDS", options.interval, 0.0, 3600.0,
                "time from one round trip to the next; 0: back to back");
    line.number("--resamples", "N", options.resamples, 1L, 1'000'000L,
                "simulated runs of each stop rule, by resampling the round trips");
    common.declare(line, "seed for the resampling");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    options.pairs = parse_pairs(pairs, ranks);
    common.check();
    return [options, common](const Communicator &comm, const std::string &command) {
        return run(comm, command, options, common);
    };
}

} // namespace

SubcommandInfo subcommands::rtt() {
    return {{"rtt", "distribution of round-trip times between pairs of ranks, and when to stop measuring"}, parse};
}

} // namespace bench
