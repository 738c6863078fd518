#include "experiments/subcommand.h"

#include "experiments/pairs_results.h"
#include "mpi/communicator.h"
#include "mpi/offsets.h"
#include "mpi/processor_check.h"
#include "mpi/steady_time.h"
#include "output/output.h"
#include "rules/statistics.h"
#include "run/command_line.h"
#include "text/component.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <limits>
#include <mpix_harmonize.h>
#include <numeric>
#include <optional>
#include <utility>

namespace bench {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr int most_nodes = 4096;       // rank 0 keeps 80 bytes for each pair and pass
constexpr double for_tournament = 0.7; // share of the time; second looks and fresh rounds take from the rest
constexpr double for_rounds = 0.9;     // share of the time; the check of clocks and the file take from the rest
constexpr int fresh_rounds = 10;
constexpr int pairings = 12;          // of a suspect node in each of two batches
constexpr long between_batches = 100; // rounds

/// Measures rounds of pairs among the nodes of a communicator.
class PairMeter {
public:
    /// Collective. `begin`: when the run began, in steady time of rank 0.
    PairMeter(const Communicator &comm, const PairsOptions &options, double begin)
        : comm_(comm), options_(options), clock_(comm, std::nullopt), out_(options.size), in_(options.size) {
        const long before = broadcast_quietly(comm, std::lround((steady_time() - begin) * 1e9));
        start();
        limit_ = options.within > 0.0 ? deadline_ + options.within * for_rounds - static_cast<double>(before) * 1e-9
                                      : std::numeric_limits<double>::infinity();
    }

    const GlobalClock &clock() const { return clock_; }
    double deadline() const { return deadline_; }
    long starts() const { return starts_; }
    double seconds_left() const { return limit_ - deadline_; }

    /// Whether the limit of time is over, the same on all ranks.
    bool is_over() const { return deadline_ > limit_; }

    /// Collective. A common start, then this rank's exchanges with its partner, which may be `idle`. The median time of
    /// the messages to this rank; NaN without a partner.
    double measure(int partner, long exchanges) {
        start();
        return partner == idle ? unknown : exchange(partner, comm_.rank() < partner, exchanges);
    }

private:
    void start() {
        int flag = 0; // a late rank delays its pair alone, and is counted by the library
        check(MPIX_Harmonize(comm_.handle(), &flag), "MPIX_Harmonize");
        check(MPIX_Harmonize_deadline(comm_.handle(), &deadline_), "MPIX_Harmonize_deadline");
        ++starts_;
    }

    void send(int partner) {
        check(MPI_Send(out_.data(), static_cast<int>(out_.size()), MPI_BYTE, partner, 0, comm_.handle()), "MPI_Send");
    }

    void receive(int partner) {
        check(
            MPI_Recv(in_.data(), static_cast<int>(in_.size()), MPI_BYTE, partner, 0, comm_.handle(), MPI_STATUS_IGNORE),
            "MPI_Recv");
    }

    /// The first exchange does not count: it may open a connection.
    double exchange(int partner, bool first, long exchanges) {
        const auto count = static_cast<std::size_t>(exchanges + 1);
        const StampClock stamps = clock_.stamps();
        std::vector<std::int64_t> sent(count);
        std::vector<std::int64_t> arrived(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (!first) {
                receive(partner);
                arrived[i] = stamps.read();
            }
            sent[i] = stamps.read();
            send(partner);
            if (first) {
                receive(partner);
                arrived[i] = stamps.read();
            }
        }
        std::vector<double> sent_here(count);
        std::ranges::transform(sent, sent_here.begin(), [&](std::int64_t stamp) { return stamps.seconds(stamp); });
        std::vector<double> sent_there(count);
        const int length = static_cast<int>(count);
        check(MPI_Sendrecv(sent_here.data(), length, MPI_DOUBLE, partner, 0, sent_there.data(), length, MPI_DOUBLE,
                           partner, 0, comm_.handle(), MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
        std::vector<double> times;
        for (std::size_t i = 1; i < count; ++i) {
            times.push_back(stamps.seconds(arrived[i]) - sent_there[i]);
        }
        return known_median(std::move(times));
    }

    const Communicator &comm_;
    const PairsOptions &options_;
    GlobalClock clock_;
    std::vector<char> out_;
    std::vector<char> in_;
    double deadline_ = 0.0;
    double limit_ = std::numeric_limits<double>::infinity();
    long starts_ = 0;
};

/// The tournament, and the confirmation of what it suspects.
class PairsRun {
public:
    PairsRun(const Communicator &comm, const std::vector<int> &ranks, const PairsOptions &options, std::uint64_t seed,
             double begin, bool quiet)
        : comm_(comm), options_(options), nodes_(comm.size()), meter_(comm, options, begin),
          times_(comm.is_root() ? nodes_ : 0), random_(seed), progress_(quiet) {
        results_.ranks = ranks;
    }

    /// Collective. Complete at rank 0.
    PairsResults run() {
        const long rounds = tournament_rounds(nodes_);
        results_.wanted = {options_.exchanges, 2, 2 * rounds};
        results_.plan = options_.within > 0.0 ? plan(rounds) : results_.wanted;
        progress_.start();
        for (int pass = 0; pass < results_.plan.passes; ++pass) {
            run_pass(pass, std::min(rounds, results_.plan.rounds - pass * rounds));
        }
        confirm();
        if (comm_.is_root()) {
            progress_.finish(fmt::format("{} rounds complete", round_));
        }
        results_.stopped = meter_.is_over();
        results_.starts = meter_.starts();
        MPIX_Harmonize_stats stats{};
        check(MPIX_Harmonize_get_stats(comm_.handle(), &stats), "MPIX_Harmonize_get_stats");
        results_.late_starts = static_cast<long>(stats.invalid_calls);
        return std::move(results_);
    }

    /// Collective. What is known of each node's clock, at rank 0: offset, rate, residual.
    std::vector<std::array<double, 3>> check_clocks() {
        const std::vector<RankOffset> offsets = measure_agreement(comm_, meter_.clock());
        Downbeat_clock clock{};
        check(Downbeat_get_clock(comm_.handle(), &clock), "Downbeat_get_clock");
        constexpr int most_edges = 64;
        std::array<Downbeat_edge, most_edges> edges{};
        int count = 0;
        double scatter = 0.0;
        check(Downbeat_get_edges(comm_.handle(), most_edges, edges.data(), &count, &scatter), "Downbeat_get_edges");
        double squares = 0.0;
        for (int i = 0; i < std::min(count, most_edges); ++i) {
            squares += std::pow(edges[static_cast<std::size_t>(i)].residual, 2);
        }
        const double residual = count > 0 ? std::sqrt(squares / std::min(count, most_edges)) : unknown;
        std::vector<std::array<double, 3>> checks;
        const std::vector<std::array<double, 2>> gathered = comm_.gather(std::array{clock.tick, residual});
        for (std::size_t node = 0; node < gathered.size(); ++node) {
            constexpr double most = 1e-3; // counters that differ by more have other nominal frequencies
            const double rate = gathered[0][0] / gathered[node][0] - 1.0;
            checks.push_back({node == 0 ? 0.0 : offsets[node - 1].tightest().offset,
                              std::abs(rate) < most ? rate : unknown, gathered[node][1]});
        }
        return checks;
    }

private:
    /// Collective. What fits into the time, by some rounds with an exchange and some with many. They have new
    /// partners, as the first pass does, so connections that are opened count.
    TournamentPlan plan(long rounds) {
        constexpr int trials = 6;
        int next = 0;
        const auto time_rounds = [&](long exchanges) {
            std::vector<double> periods;
            double last = meter_.deadline();
            for (int trial = 0; trial <= trials; ++trial) {
                const int round = next++ % tournament_rounds(nodes_);
                const bool waits = options_.alone && !is_end(links_of_round(nodes_, round).front());
                meter_.measure(waits ? idle : opponent(nodes_, round, comm_.rank()), exchanges);
                periods.push_back(meter_.deadline() - last);
                last = meter_.deadline();
            }
            periods.erase(periods.begin()); // from before the trials
            return known_median(std::move(periods));
        };
        const double quick = time_rounds(1);
        // They must not take the time of the run: an exchange takes no longer than a round with two.
        constexpr double share = 0.05;
        const double affordable = share * meter_.seconds_left() / (quick * trials);
        const long many = std::min(options_.exchanges, fewest_exchanges + static_cast<long>(affordable));
        const double exchange = (time_rounds(many) - quick) / static_cast<double>(std::max(1L, many - 1));
        RoundCost cost{quick - exchange, exchange};
        if (options_.alone) {
            const auto pairs = static_cast<double>(nodes_ / 2);
            cost = {cost.start * pairs, cost.exchange * pairs};
        }
        return plan_tournament(rounds, options_.exchanges, cost, meter_.seconds_left() * for_tournament);
    }

    bool is_end(const Link &link) const { return link.a == comm_.rank() || link.b == comm_.rank(); }

    /// Collective. A round of the tournament, all links at once or one by one, or `link` of it alone. Adds this rank's
    /// value where it has a pair.
    void run_round(int round, std::vector<double> &values, const std::optional<Link> &link = std::nullopt) {
        const int partner = opponent(nodes_, round, comm_.rank());
        const auto measure = [&](bool takes_part) {
            const double value = meter_.measure(takes_part ? partner : idle, results_.plan.exchanges);
            if (takes_part && partner != idle) {
                values.push_back(value);
            }
        };
        if (!options_.alone) {
            measure(true);
        } else if (link) {
            measure(is_end(*link));
        } else {
            for (const Link &one : links_of_round(nodes_, round)) {
                measure(is_end(one));
            }
        }
        ++round_;
    }

    /// Collective.
    void run_pass(int pass, long rounds) {
        const long begin = round_;
        std::vector<double> values;
        for (int round = 0; round < rounds && !meter_.is_over(); ++round) {
            run_round(round, values);
            if (comm_.is_root()) {
                progress_.update(static_cast<std::size_t>(round_),
                                 static_cast<std::size_t>(std::max(0L, results_.plan.rounds - round_)));
            }
        }
        values.resize(static_cast<std::size_t>(nodes_ - 1), unknown); // a meeting with each, where time was enough
        const std::vector<double> gathered = gather_quietly(comm_, values);
        if (!comm_.is_root()) {
            return;
        }
        std::vector<std::size_t> taken(static_cast<std::size_t>(nodes_), 0);
        const auto next = [&](int node) {
            const auto index = static_cast<std::size_t>(node);
            return gathered[index * values.size() + taken[index]++];
        };
        for (long round = begin; round < round_; ++round) {
            for (const Link &link : links_of_round(nodes_, static_cast<int>(round - begin))) {
                const double to_a = next(link.a);
                add(round, link, {static_cast<PairPass>(pass), Role::tournament, -1}, next(link.b), to_a);
            }
        }
    }

    struct Purpose {
        PairPass pass;
        Role role;
        int suspect;
    };

    /// At rank 0.
    void add(long round, const Link &link, const Purpose &purpose, double seconds_ab, double seconds_ba) {
        PairRecords &records = results_.records;
        records.round.push_back(round);
        records.rank_a.push_back(results_.ranks[static_cast<std::size_t>(link.a)]);
        records.rank_b.push_back(results_.ranks[static_cast<std::size_t>(link.b)]);
        records.pass.push_back(static_cast<std::int64_t>(purpose.pass));
        records.role.push_back(static_cast<std::int64_t>(purpose.role));
        records.suspect.push_back(purpose.suspect);
        records.seconds_ab.push_back(seconds_ab);
        records.seconds_ba.push_back(seconds_ba);
        if (purpose.role == Role::tournament) {
            times_.add(link, seconds_ab + seconds_ba);
        }
    }

    /// Collective. Measures links again, each in its round of the tournament, beside the same pairs as there. The times
    /// of both directions together, at rank 0.
    std::vector<double> look(const std::vector<Look> &looks, PairPass pass) {
        std::vector<int> words; // of rank 0
        for (const Look &one : looks) {
            words.insert(words.end(), {one.link.a, one.link.b});
        }
        words.resize(2 * static_cast<std::size_t>(broadcast_quietly(comm_, static_cast<long>(looks.size()))));
        if (words.empty()) {
            return {};
        }
        check(MPI_Bcast(words.data(), static_cast<int>(words.size()), MPI_INT, 0, comm_.handle()), "MPI_Bcast");
        const long begin = round_;
        std::vector<double> values(words.size(), 0.0); // to a, to b
        std::size_t done = 0;
        for (; done < words.size() && !meter_.is_over(); done += 2) {
            const Link link{words[done], words[done + 1]};
            std::vector<double> value;
            run_round(round_of(nodes_, link), value, link);
            if (is_end(link)) {
                values[done + (comm_.rank() == link.a ? 0 : 1)] = value.front();
            }
        }
        std::vector<double> sums(values.size());
        check(MPI_Reduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, 0,
                         comm_.handle()),
              "MPI_Reduce");
        std::vector<double> seconds(looks.size(), unknown);
        for (std::size_t i = 0; i < std::min(looks.size(), done / 2); ++i) {
            add(begin + static_cast<long>(i), looks[i].link, {pass, looks[i].role, looks[i].suspect}, sums[2 * i + 1],
                sums[2 * i]);
            seconds[i] = sums[2 * i] + sums[2 * i + 1];
        }
        return seconds;
    }

    /// Collective. Suspects, a second look at each, and fresh rounds of those that are slow again.
    void confirm() {
        const Peers peers(times_); // as all below: of use at rank 0 alone
        std::vector<Suspect> &suspects = results_.suspects;
        suspects = peers.find_suspects();
        results_.found_suspects = suspects.size();
        suspects.resize(std::min(suspects.size(), most_suspects));
        std::vector<std::size_t> chosen(suspects.size());
        std::iota(chosen.begin(), chosen.end(), std::size_t{0});
        const auto looks_at = [&](bool nodes, int repetitions) {
            std::vector<Look> looks;
            for (int i = 0; i < repetitions; ++i) {
                const std::vector<Look> round = peers.looks(suspects, chosen, nodes, random_);
                looks.insert(looks.end(), round.begin(), round.end());
            }
            return looks;
        };
        std::vector<Look> second = looks_at(true, 1);
        const std::vector<Look> links = looks_at(false, 1);
        second.insert(second.end(), links.begin(), links.end());
        chosen = slow_again(second, look(second, PairPass::second_look));
        const std::vector<Look> batch = looks_at(true, pairings);
        look(batch, PairPass::fresh);
        const long after_batch = round_;
        look(looks_at(false, fresh_rounds), PairPass::fresh);
        if (broadcast_quietly(comm_, batch.empty() ? 0 : 1) != 0) {
            std::vector<double> dropped;
            while (round_ - after_batch < between_batches && !meter_.is_over()) {
                run_round(static_cast<int>(round_ % tournament_rounds(nodes_)), dropped);
            }
            look(looks_at(true, pairings), PairPass::fresh);
        }
        for (Suspect &suspect : suspects) {
            suspect.a = results_.ranks[static_cast<std::size_t>(suspect.a)];
            suspect.b = suspect.is_node() ? whole_node : results_.ranks[static_cast<std::size_t>(suspect.b)];
        }
    }

    const Communicator &comm_;
    const PairsOptions &options_;
    int nodes_;
    PairMeter meter_;
    LinkTimes times_; // empty at other ranks than 0
    std::mt19937_64 random_;
    Progress progress_;
    PairsResults results_{};
    long round_ = 0;
};

/// Collective. The ranks that take part: the first of each node, or all.
std::vector<int> choose_ranks(const std::vector<int> &nodes, bool all) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
        const auto here = nodes.begin() + rank;
        if (all || std::find(nodes.begin(), here, *here) == here) {
            ranks.push_back(rank);
        }
    }
    return ranks;
}

ExitStatus run(const Communicator &comm, const std::string &command, const PairsOptions &requested,
               const CommonOptions &common) {
    const double begin = steady_time();
    PairsOptions options = requested;
    const std::vector<int> nodes = number_nodes(comm);
    options.ranks = options.ranks || std::ranges::max(nodes) == 0;
    const std::vector<int> ranks = choose_ranks(nodes, options.ranks);
    if (static_cast<int>(ranks.size()) > most_nodes) {
        throw Error::usage(fmt::format("{} take part, but pairs measures up to {}; start fewer nodes, or one rank of "
                                       "each",
                                       ranks.size(), most_nodes));
    }
    Session session(comm, common, command);
    barrier_quietly(comm);
    const ProcessorCheck processor = check_processor();
    const bool takes_part = std::ranges::binary_search(ranks, comm.rank());
    PairsResults results{};
    std::vector<std::array<double, 3>> clocks;
    {
        const Communicator group(comm, takes_part ? 0 : 1);
        if (takes_part) {
            PairsRun pairs(group, ranks, options, session.seed(), begin, common.quiet);
            results = pairs.run();
            clocks = pairs.check_clocks();
        }
    }
    barrier_quietly(comm);
    const std::vector<double> checks = gather_quietly(
        comm, {processor.loop_seconds, processor.wake_delay, processor.interruptions_per_s, processor.taken_share});
    return session.finish([&]() -> Findings {
        for (std::size_t i = 0; i < checks.size(); i += 4) {
            results.checks.push_back(
                {checks[i], checks[i + 1], checks[i + 2], checks[i + 3], unknown, unknown, unknown});
        }
        for (std::size_t node = 0; node < clocks.size(); ++node) {
            RankCheck &check = results.checks[static_cast<std::size_t>(ranks[node])];
            check.clock_offset = clocks[node][0];
            check.clock_rate = clocks[node][1];
            check.clock_residual = clocks[node][2];
        }
        return {pairs_dataset(session.context(), options, results), pairs_head(results),
                find_pairs_warnings(options, results)};
    });
}

ParsedWork parse(int argc, char **argv, int ranks) {
    CommandLine line("Measures all pairs of nodes in rounds of disjoint pairs that begin at a common start, and again "
                     "the nodes and links that seem slow, for downbeat locate. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench pairs");
    PairsOptions options;
    CommonOptions common;
    line.option(
        "--size", "BYTES",
        [&](const std::string &word) {
            const std::vector<std::uint64_t> sizes = parse_sizes(word);
            constexpr std::uint64_t most = std::uint64_t{1} << 30U;
            if (sizes.size() != 1 || sizes.front() > most) {
                throw Error::usage(fmt::format("--size cannot be '{}'; use one size up to 1G", word));
            }
            options.size = sizes.front();
        },
        fmt::format("message size; suffixes K, M, G [default {}]", options.size));
    line.number("--exchanges", "N", options.exchanges, 1L, 100'000L, "exchanges of a pair in a round");
    line.option(
        "--within", "DURATION",
        [&](const std::string &word) {
            options.within = parse_duration("--within", word);
            if (options.within < 1.0) {
                throw Error::usage(fmt::format("--within cannot be '{}'; use 1s or more", word));
            }
        },
        "end before this time is over, e.g. 60s: fewer exchanges, then one pass, then fewer rounds");
    line.flag("--alone", options.alone, "one pair after another, not all pairs of a round at once; for few nodes");
    line.flag("--ranks", options.ranks,
              "all ranks take part, not the first of each node; so it is where all ranks share a host");
    common.declare(line, "seed for the partners of suspects");
    line.footer(fmt::format("For n nodes: 2 (n - 1) rounds, and up to 80 for each suspect. Each round sends\n"
                            "n x (exchanges + 1) messages of --size bytes. Rank 0 keeps 80 bytes for each\n"
                            "pair and pass, 84 MB for 1,024 nodes; {} nodes at most.",
                            most_nodes));
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    if (ranks < 2) {
        parse_pairs("0:1", ranks); // refuses
    }
    common.check();
    return [options, common](const Communicator &comm, const std::string &command) {
        return run(comm, command, options, common);
    };
}

} // namespace

SubcommandInfo subcommands::pairs() {
    return {{"pairs", "all pairs of nodes, at a common start, for downbeat locate: the slow node or link"}, parse};
}

} // namespace bench
