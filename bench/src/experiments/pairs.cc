// `downbeat-bench pairs`: measures all pairs of nodes in the rounds of a tournament (rules/tournament.h), in each of
// which disjoint pairs begin at a common start, and then the suspects again: nodes and links that seem slow
// (rules/suspects.h). `downbeat locate` judges the file.
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
constexpr int max_group = 4096;          // nodes; larger groups would need gigabytes at rank 0
constexpr int default_group = 1024;      // largest group if there are more than `max_group` nodes
constexpr double tournament_share = 0.7; // of the time for rounds; further looks at suspects use the rest
constexpr double rounds_share = 0.9;     // of the time limit; the check of clocks and the file use the rest
constexpr int link_rounds = 10;          // fresh rounds of a suspect link
constexpr int batch_rounds = 12;         // fresh rounds of a suspect node in each of two batches
constexpr long rounds_between_batches = 100;

/// Measures rounds of pairs among the nodes of a communicator.
class PairMeter {
public:
    /// Collective. `begin`: steady time of rank 0 at which the run began.
    PairMeter(const Communicator &comm, const PairsOptions &options, double begin)
        : comm_(comm), options_(options), clock_(comm, std::nullopt), out_(options.size), in_(options.size) {
        const long used_ns = broadcast_quietly(comm, std::lround((steady_time() - begin) * 1e9));
        start();
        limit_ = options.within > 0.0 ? deadline_ + options.within * rounds_share - static_cast<double>(used_ns) * 1e-9
                                      : std::numeric_limits<double>::infinity();
    }

    const GlobalClock &clock() const { return clock_; }
    double deadline() const { return deadline_; } // of the last common start, global time in seconds
    long starts() const { return starts_; }
    double seconds_left() const { return limit_ - deadline_; } // infinite without a limit of time

    /// True if the limit of time is over; the same on all ranks.
    bool is_over() const { return deadline_ > limit_; }

    /// Collective. Waits for a common start, then exchanges messages with a partner unless it is `idle`. Returns the
    /// median time of the messages to this rank in seconds; NaN without a partner.
    double measure(int partner, long exchanges) {
        start();
        return partner == idle ? unknown : exchange(partner, comm_.rank() < partner, exchanges);
    }

private:
    void start() {
        int flag = 0; // ignored: a late rank delays only its own pair, and the library counts late ranks
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

    /// Exchanges messages; of two partners, the first is the lower rank. The first exchange does not count, since it
    /// may open a connection.
    double exchange(int partner, bool first, long exchanges) {
        const auto count = static_cast<std::size_t>(exchanges + 1);
        const StampClock stamps = clock_.stamps();
        std::vector<std::int64_t> sent(count);
        std::vector<std::int64_t> arrived(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (!first) { // the partner sends first
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
    double limit_; // global time at which rounds must end
    long starts_ = 0;
};

/// A run: the tournament, and the further looks at its suspects. Nodes are ranks of the communicator.
class PairsRun {
public:
    PairsRun(const Communicator &comm, const std::vector<int> &ranks, const PairsOptions &options, std::uint64_t seed,
             double begin, bool quiet)
        : comm_(comm), options_(options), groups_(comm.size(), options.group), meter_(comm, options, begin),
          random_(seed), progress_(quiet) {
        results_.ranks = ranks;
        for (const Group &group : comm.is_root() ? groups_.list() : std::vector<Group>{}) {
            times_.emplace_back(group);
        }
    }

    /// Collective. Returns the results at rank 0; those of other ranks are incomplete.
    PairsResults run() {
        const long rounds = groups_.rounds();
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

    /// Collective. Returns the offset, rate and residual of each node's clock (see RankCheck) at rank 0.
    std::vector<std::array<double, 3>> check_clocks() {
        const std::vector<RankOffset> offsets = measure_agreement(comm_, meter_.clock());
        Downbeat_clock clock{};
        check(Downbeat_get_clock(comm_.handle(), &clock), "Downbeat_get_clock");
        constexpr int max_edges = 64;
        std::array<Downbeat_edge, max_edges> edges{};
        int count = 0;
        double scatter = 0.0;
        check(Downbeat_get_edges(comm_.handle(), max_edges, edges.data(), &count, &scatter), "Downbeat_get_edges");
        double squares = 0.0;
        for (int i = 0; i < std::min(count, max_edges); ++i) {
            squares += std::pow(edges[static_cast<std::size_t>(i)].residual, 2);
        }
        const double residual = count > 0 ? std::sqrt(squares / std::min(count, max_edges)) : unknown;
        std::vector<std::array<double, 3>> checks;
        const std::vector<std::array<double, 2>> gathered = comm_.gather(std::array{clock.tick, residual});
        for (std::size_t node = 0; node < gathered.size(); ++node) {
            constexpr double max_rate = 1e-3; // counters that differ by more have different nominal frequencies
            const double rate = gathered[0][0] / gathered[node][0] - 1.0;
            checks.push_back({node == 0 ? 0.0 : offsets[node - 1].tightest().offset,
                              std::abs(rate) < max_rate ? rate : unknown, gathered[node][1]});
        }
        return checks;
    }

private:
    /// Collective. Plans a tournament that fits into the time, by trial rounds with one exchange and with many
    /// exchanges. Each trial has new partners, as in the first pass, so its time contains the opening of connections.
    TournamentPlan plan(long rounds) {
        constexpr int trials = 6;
        int next_round = 0;
        const auto time_rounds = [&](long exchanges) {
            std::vector<double> periods;
            double last = meter_.deadline();
            for (int trial = 0; trial <= trials; ++trial) {
                const int round = next_round++ % groups_.rounds();
                const bool pauses = options_.alone && !is_end(groups_.links_of_round(round).front());
                meter_.measure(pauses ? idle : groups_.opponent(round, comm_.rank()), exchanges);
                periods.push_back(meter_.deadline() - last);
                last = meter_.deadline();
            }
            periods.erase(periods.begin()); // it began before the trials
            return known_median(std::move(periods));
        };
        const double quick = time_rounds(1);
        // The trials with many exchanges must not use up the time. `quick`, a round with two exchanges, is an upper
        // limit of the time of an exchange.
        constexpr double share = 0.05; // of the time
        const double affordable = share * meter_.seconds_left() / (quick * trials);
        const long many = std::min(options_.exchanges, min_exchanges + static_cast<long>(affordable));
        const double exchange = (time_rounds(many) - quick) / static_cast<double>(std::max(1L, many - 1));
        RoundCost cost{quick - exchange, exchange};
        if (options_.alone) {
            const auto pairs = static_cast<double>(comm_.size() / 2);
            cost = {cost.start * pairs, cost.exchange * pairs};
        }
        return plan_tournament(rounds, options_.exchanges, cost, meter_.seconds_left() * tournament_share);
    }

    bool is_end(const Link &link) const { return link.a == comm_.rank() || link.b == comm_.rank(); }

    /// Collective. Measures a round of the tournament: all links at once, or one by one with --alone, and then only
    /// `link` if it is given. Adds this rank's value unless the rank pauses. `round` and `link` may differ from group
    /// to group.
    void run_round(int round, std::vector<double> &values, const std::optional<Link> &link = std::nullopt) {
        const int partner = groups_.opponent(round, comm_.rank());
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
            for (const Link &each : groups_.links_of_round(round)) {
                measure(is_end(each));
            }
        }
        ++round_;
    }

    /// Collective. Runs rounds of the tournament, and adds their measurements at rank 0.
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
        // A value for each other node of the group; unknown if the time was over before.
        values.resize(static_cast<std::size_t>(groups_.list().front().size - 1), unknown);
        const std::vector<double> gathered = gather_quietly(comm_, values);
        if (!comm_.is_root()) {
            return;
        }
        std::vector<std::size_t> used(static_cast<std::size_t>(comm_.size()), 0); // number of values of each node
        const auto next_value = [&](int node) {
            const auto index = static_cast<std::size_t>(node);
            return gathered[index * values.size() + used[index]++];
        };
        for (long round = begin; round < round_; ++round) {
            for (const Link &link : groups_.links_of_round(static_cast<int>(round - begin))) {
                const double seconds_ba = next_value(link.a);
                add(round, link, {static_cast<PairPass>(pass), Role::tournament, -1}, next_value(link.b), seconds_ba);
            }
        }
    }

    struct Purpose {
        PairPass pass;
        Role role;
        int suspect;
    };

    /// At rank 0. Adds a measurement; `round` counts from the begin of the run.
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
            times_[static_cast<std::size_t>(groups_.index_of(link.a))].add(link, seconds_ab + seconds_ba);
        }
    }

    /// Collective. Measures links again, each in its round of the tournament, together with the other pairs of that
    /// round. Looks of different groups are measured at the same time, unless --alone. Returns the time of each look,
    /// the sum of both directions in seconds, at rank 0; NaN if the time was over before.
    std::vector<double> look(const std::vector<Look> &looks, PairPass pass) {
        std::vector<int> ends; // of all links, from rank 0
        for (const Look &each : looks) {
            ends.insert(ends.end(), {each.link.a, each.link.b});
        }
        ends.resize(2 * static_cast<std::size_t>(broadcast_quietly(comm_, static_cast<long>(looks.size()))));
        if (ends.empty()) {
            return {};
        }
        check(MPI_Bcast(ends.data(), static_cast<int>(ends.size()), MPI_INT, 0, comm_.handle()), "MPI_Bcast");
        const auto [steps, count] = steps_of(ends);
        const int group = groups_.index_of(comm_.rank());
        std::vector<double> values(ends.size(), 0.0); // of each link: to a, to b
        const long begin = round_;
        std::size_t next = 0; // look
        for (long step = 0; step < count && !meter_.is_over(); ++step) {
            while (next < steps.size() && (steps[next] < step || groups_.index_of(ends[2 * next]) != group)) {
                ++next;
            }
            std::vector<double> value;
            if (next == steps.size() || steps[next] != step) { // no look in this rank's group
                run_round(static_cast<int>(step % groups_.rounds()), value, Link{idle, idle});
                continue;
            }
            const Link link{ends[2 * next], ends[2 * next + 1]};
            run_round(groups_.round_of(link), value, link);
            if (is_end(link)) {
                values[2 * next + (comm_.rank() == link.a ? 0 : 1)] = value.front();
            }
        }
        std::vector<double> sums(values.size());
        check(MPI_Reduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, 0,
                         comm_.handle()),
              "MPI_Reduce");
        std::vector<double> seconds(looks.size(), unknown);
        for (std::size_t i = 0; i < looks.size(); ++i) {
            if (begin + steps[i] < round_) {
                add(begin + steps[i], looks[i].link, {pass, looks[i].role, looks[i].suspect}, sums[2 * i + 1],
                    sums[2 * i]);
                seconds[i] = sums[2 * i] + sums[2 * i + 1];
            }
        }
        return seconds;
    }

    /// Returns the step in which each look is measured, and the number of steps: the looks of a group follow each
    /// other. `ends`: the two nodes of each look.
    std::pair<std::vector<long>, long> steps_of(const std::vector<int> &ends) const {
        std::vector<long> steps;
        std::vector<long> counts(options_.alone ? 1 : groups_.list().size(), 0);
        for (std::size_t i = 0; i < ends.size(); i += 2) {
            steps.push_back(counts[options_.alone ? 0 : static_cast<std::size_t>(groups_.index_of(ends[i]))]++);
        }
        return {steps, std::ranges::max(counts)};
    }

    /// Collective. Finds suspects, looks at each a second time, and measures fresh rounds of those that are slow again.
    void confirm() {
        const std::vector<Peers> peers(times_.begin(), times_.end()); // empty except at rank 0, as are the looks
        std::vector<Suspect> &suspects = results_.suspects;
        for (std::size_t i = 0; i < peers.size(); ++i) {
            std::vector<Suspect> in_group = peers[i].find_suspects();
            results_.suspects_in_groups.push_back(std::ssize(in_group));
            in_group.resize(std::min(in_group.size(), max_second_looks(groups_.list()[i])));
            suspects.insert(suspects.end(), in_group.begin(), in_group.end());
        }
        std::ranges::stable_sort(suspects, {}, [](const Suspect &suspect) {
            return std::pair(!suspect.is_node(), -suspect.score); // nodes first, the slowest first
        });
        std::vector<std::size_t> chosen(suspects.size()); // indices of the suspects that are looked at
        std::iota(chosen.begin(), chosen.end(), std::size_t{0});
        const auto choose_looks = [&](bool nodes, int repetitions) {
            std::vector<Look> looks;
            for (int i = 0; i < repetitions; ++i) {
                for (const Peers &group : peers) {
                    const std::vector<Look> in_group = group.looks(suspects, chosen, nodes, random_);
                    looks.insert(looks.end(), in_group.begin(), in_group.end());
                }
            }
            return looks;
        };
        std::vector<Look> second = choose_looks(true, 1);
        const std::vector<Look> of_links = choose_looks(false, 1);
        second.insert(second.end(), of_links.begin(), of_links.end());
        chosen = choose_confirmed(suspects, slow_again(second, look(second, PairPass::second_look)), times_);
        const std::vector<Look> batch = choose_looks(true, batch_rounds);
        look(batch, PairPass::fresh);
        const long after_batch = round_;
        look(choose_looks(false, link_rounds), PairPass::fresh);
        if (broadcast_quietly(comm_, batch.empty() ? 0 : 1) != 0) {
            std::vector<double> dropped;
            while (round_ - after_batch < rounds_between_batches && !meter_.is_over()) {
                run_round(static_cast<int>(round_ % groups_.rounds()), dropped);
            }
            look(choose_looks(true, batch_rounds), PairPass::fresh);
        }
        for (Suspect &suspect : suspects) {
            suspect.a = results_.ranks[static_cast<std::size_t>(suspect.a)];
            suspect.b = suspect.is_node() ? whole_node : results_.ranks[static_cast<std::size_t>(suspect.b)];
        }
    }

    const Communicator &comm_;
    const PairsOptions &options_;
    Groups groups_;
    PairMeter meter_;
    std::vector<LinkTimes> times_; // of each group; empty except at rank 0
    std::mt19937_64 random_;
    Progress progress_;
    PairsResults results_{};
    long round_ = 0; // rounds that have been measured
};

/// Returns the ranks that take part: the first of each node, or all ranks. `nodes`: number of each rank's node.
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
    const int count = static_cast<int>(ranks.size());
    if (options.group == 0) {
        options.group = count > max_group ? default_group : max_group;
    }
    const Groups groups(count, options.group);
    if (groups.list().size() > 1 && groups.list().back().size < min_nodes) {
        throw Error::usage(fmt::format("--group cannot be {}: of {} nodes, a group would have {}; use a number that "
                                       "gives each group {} nodes or more",
                                       options.group, count, groups.list().back().size, min_nodes));
    }
    Session session(comm, common, command);
    barrier_quietly(comm);
    const ProcessorCheck processor = check_processor();
    const bool takes_part = std::ranges::binary_search(ranks, comm.rank());
    PairsResults results{};
    std::vector<std::array<double, 3>> clocks;
    {
        const Communicator paired(comm, takes_part ? 0 : 1);
        if (takes_part) {
            PairsRun pairs(paired, ranks, options, session.seed(), begin, common.quiet);
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
                {checks[i], checks[i + 1], checks[i + 2], checks[i + 3], unknown, unknown, unknown, 0});
        }
        for (std::size_t node = 0; node < clocks.size(); ++node) {
            RankCheck &check = results.checks[static_cast<std::size_t>(ranks[node])];
            check.clock_offset = clocks[node][0];
            check.clock_rate = clocks[node][1];
            check.clock_residual = clocks[node][2];
            check.group = groups.index_of(static_cast<int>(node)) + 1;
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
            constexpr std::uint64_t max_size = std::uint64_t{1} << 30U;
            if (sizes.size() != 1 || sizes.front() > max_size) {
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
    std::optional<int> group;
    line.number(
        "--group", "NODES", group, min_nodes, max_group,
        fmt::format("nodes are paired within groups of at most NODES consecutive nodes [default: one group; of more "
                    "than {} nodes, groups of {}]",
                    max_group, default_group));
    common.declare(line, "seed for the partners of suspects");
    line.footer("Groups of n nodes take 2 (n - 1) rounds, all groups at once, 3 for each suspect\n"
                "of a group, and up to 72 for each that is slow again. In a round each node\n"
                "sends (exchanges + 1) messages of --size bytes. Rank 0 keeps 80 bytes for each\n"
                "pair and pass, and 16 for each pair: 92 MB for 1,024 nodes, 0.9 GB for 10,000\n"
                "in groups of 1,000.");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    options.group = group.value_or(options.group);
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
