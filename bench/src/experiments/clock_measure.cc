// Runs the synchronizations and checks of `downbeat-bench clock` (clock_measure.h). Rank 0 decides on the next
// action.
#include "experiments/clock_measure.h"

#include "mpi/communicator.h"
#include "mpi/offsets.h"
#include "mpi/steady_time.h"
#include "rules/statistics.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <mpix_harmonize.h>
#include <numeric>

namespace bench {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Actions that rank 0 broadcasts. A value from 0 on is a check: index of the scheme * number of waits + index of the
// wait.
constexpr long synchronize_next = -1;
constexpr long finished = -2;

// Time that is reserved for a synchronization and the check after it, relative to the longest so far.
constexpr double margin = 1.5;

// Time that is reserved for the first synchronization of a scheme, s. Enough for few ranks: a scheme
// that fits a clock's rate does so for 1 s by default.
constexpr double first_seconds = 2.5;

// The number of the repetition that has the first synchronizations, before repetition 0.
constexpr long first_repetition = -1;

/// The mean duration of MPI_Barrier over `calls` calls, s.
double barrier_seconds(const Communicator &comm, long calls) {
    const double begin = steady_time();
    for (long i = 0; i < calls; ++i) {
        check(MPI_Barrier(comm.handle()), "MPI_Barrier");
    }
    return (steady_time() - begin) / static_cast<double>(calls);
}

/// Collective. The mean duration of MPI_Barrier, s. Takes about 50 ms.
double measure_barrier(const Communicator &comm) {
    constexpr long trial_calls = 10;
    constexpr double seconds = 0.05;
    const long max_calls = is_simulated() ? trial_calls : 1000; // simulated durations do not vary
    barrier_quietly(comm);
    const double trial = barrier_seconds(comm, trial_calls);
    const long calls = std::clamp(static_cast<long>(seconds / trial), trial_calls, max_calls);
    return barrier_seconds(comm, broadcast_quietly(comm, calls));
}

} // namespace

MPIX_Harmonize_stats stats_of(MPI_Comm comm) {
    MPIX_Harmonize_stats stats;
    check(MPIX_Harmonize_get_stats(comm, &stats), "MPIX_Harmonize_get_stats");
    return stats;
}

SchemeClock::SchemeClock(const Communicator &comm, const std::string &scheme) {
    check(MPI_Comm_dup(comm.handle(), &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    Info info;
    info.set("sync", scheme);
    const int code = MPIX_Harmonize_set_info(comm_, info.handle());
    check_everywhere(comm, code, fmt::format("cannot synchronize the clocks with {}", scheme));
}

SchemeClock::~SchemeClock() { MPI_Comm_free(&comm_); }

void SchemeClock::synchronize() const { check(MPIX_Harmonize_sync(comm_), "MPIX_Harmonize_sync"); }

double SchemeClock::messages() const { return static_cast<double>(stats_of(comm_).sync_messages); }

int SchemeClock::domains() const { return stats_of(comm_).clock_domains; }

ClockEdges SchemeClock::edges(const Communicator &comm) const {
    // An edge is a comparison of a rank's clock with a partner's (clock_results.h).
    constexpr std::size_t max_edges = 32; // per rank; more than a scheme has
    std::array<Downbeat_edge, max_edges> local{};
    int count = 0;
    double scatter = 0.0;
    check(Downbeat_get_edges(comm_, static_cast<int>(local.size()), local.data(), &count, &scatter),
          "Downbeat_get_edges");
    // The values of a rank: number of its edges, scatter of their residuals, then partner and residual of each edge.
    std::vector<double> words = {static_cast<double>(count), scatter};
    for (const Downbeat_edge &edge : local) {
        words.push_back(edge.partner);
        words.push_back(edge.residual);
    }
    const std::vector<double> gathered = gather_quietly(comm, words);
    ClockEdges collected;
    std::vector<double> scatters;
    for (std::size_t rank = 0; (rank + 1) * words.size() <= gathered.size(); ++rank) {
        const double *values = &gathered[rank * words.size()];
        for (std::size_t i = 0; i < std::min(max_edges, static_cast<std::size_t>(values[0])); ++i) {
            collected.edges.push_back({static_cast<int>(rank), static_cast<int>(values[2 + 2 * i]), values[3 + 2 * i]});
        }
        if (values[0] > 0.0) {
            scatters.push_back(values[1]);
        }
    }
    if (!scatters.empty()) {
        collected.scatter = summarize(scatters).median;
    }
    return collected;
}

bool SchemeClock::knows_truth() const {
    double error = 0.0;
    int known = MPIX_Harmonize_true_error(comm_, &error) == MPI_SUCCESS ? 1 : 0;
    check(MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce");
    return known == 1;
}

double SchemeClock::true_error() const {
    double error = 0.0;
    check(MPIX_Harmonize_true_error(comm_, &error), "MPIX_Harmonize_true_error");
    return error;
}

ClockMeasurement::ClockMeasurement(const Communicator &comm, const ClockOptions &options, bool validation,
                                   std::uint64_t seed, bool quiet)
    : comm_(comm), validation_(validation), random_(seed), clocks_(options.schemes.size()),
      synced_at_(options.schemes.size()),
      // Chosen so that the time reserved for the first synchronization, margin * longest_, is first_seconds.
      longest_(options.schemes.size(), first_seconds / margin), results_{.options = options,
                                                                         .truth = false,
                                                                         .clock_domains = 0,
                                                                         .barrier = {},
                                                                         .first = {},
                                                                         .runs = {},
                                                                         .edges = {}},
      progress_(quiet) {
    for (const int rank : options.checked) {
        pairs_.push_back({0, rank});
    }
    const ClockRun empty{
        .position = 0, .duration = 0.0, .messages = 0.0, .events = std::vector<ClockEvent>(options.waits.size())};
    results_.first.assign(options.schemes.size(), empty);
    results_.runs.assign(options.schemes.size(),
                         std::vector<ClockRun>(static_cast<std::size_t>(options.repetitions), empty));
}

ClockResults ClockMeasurement::run() {
    progress_.start();
    run_repetition(first_repetition);
    for (long repetition = 0; repetition < results_.options.repetitions; ++repetition) {
        results_.barrier.push_back(measure_barrier(comm_));
        run_repetition(repetition);
    }
    for (const std::unique_ptr<SchemeClock> &clock : clocks_) {
        results_.edges.push_back(clock->edges(comm_));
    }
    if (comm_.is_root()) {
        progress_.finish(
            fmt::format("{} of {} repetitions complete", results_.barrier.size(), results_.options.repetitions));
    }
    return results_;
}

ClockRun &ClockMeasurement::run_of(std::size_t scheme, long repetition) {
    return repetition == first_repetition ? results_.first[scheme]
                                          : results_.runs[scheme][static_cast<std::size_t>(repetition)];
}

void ClockMeasurement::run_repetition(long repetition) {
    const std::size_t waits = results_.options.waits.size();
    std::vector<std::size_t> order(clocks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order, random_);
    DueEvents pending; // checks that are due later, by time; used on rank 0 only
    std::size_t synchronized = 0;
    for (;;) {
        const long action = broadcast_quietly(comm_, comm_.is_root() ? choose_action(pending, order, synchronized) : 0);
        if (action == finished) {
            return;
        }
        if (action == synchronize_next) {
            synchronize(order[synchronized], repetition, synchronized, pending);
            ++synchronized;
        } else {
            const auto event = static_cast<std::size_t>(action);
            check_clocks(event / waits, repetition, event % waits);
        }
    }
}

long ClockMeasurement::choose_action(DueEvents &pending, const std::vector<std::size_t> &order,
                                     std::size_t synchronized) const {
    const bool all_synchronized = synchronized == order.size();
    if (pending.empty()) {
        return all_synchronized ? finished : synchronize_next;
    }
    const double seconds_left = pending.next_due() - steady_time();
    if (!all_synchronized && seconds_left > margin * longest_[order[synchronized]]) {
        return synchronize_next;
    }
    sleep_for(seconds_left); // returns at once if it is negative
    return static_cast<long>(pending.take_first());
}

void ClockMeasurement::synchronize(std::size_t scheme, long repetition, std::size_t position, DueEvents &pending) {
    barrier_quietly(comm_);                            // ranks may sleep in it; after it, all are awake
    check(MPI_Barrier(comm_.handle()), "MPI_Barrier"); // after it, ranks start together
    const double messages = repetition == first_repetition ? 0.0 : clocks_[scheme]->messages();
    const double begin = steady_time();
    if (repetition == first_repetition) {
        clocks_[scheme] = std::make_unique<SchemeClock>(comm_, results_.options.schemes[scheme]);
    } else {
        clocks_[scheme]->synchronize();
    }
    const SchemeClock &clock = *clocks_[scheme];
    synced_at_[scheme] = steady_time();
    const double duration = synced_at_[scheme] - begin;
    if (repetition == first_repetition) {
        results_.truth = validation_ && clock.knows_truth();
        results_.clock_domains = clock.domains();
    }

    const std::vector<double> &waits = results_.options.waits;
    for (std::size_t wait = 0; wait < waits.size(); ++wait) {
        if (waits[wait] == 0.0) {
            check_clocks(scheme, repetition, wait);
        } else {
            pending.add(synced_at_[scheme] + waits[wait], scheme * waits.size() + wait);
        }
    }

    const std::vector<double> gathered = gather_quietly(comm_, {duration, clock.messages() - messages});
    ClockRun &run = run_of(scheme, repetition);
    run.position = static_cast<long>(position);
    const double lasted = steady_time() - begin;
    longest_[scheme] = repetition == first_repetition ? lasted : std::max(longest_[scheme], lasted);
    for (std::size_t i = 0; i + 1 < gathered.size(); i += 2) { // each rank's duration and messages; the largest count
        run.duration = std::max(run.duration, gathered[i]);
        run.messages = std::max(run.messages, gathered[i + 1]);
    }
}

void ClockMeasurement::check_clocks(std::size_t scheme, long repetition, std::size_t wait) {
    const SchemeClock &clock = *clocks_[scheme];
    const ClockOptions &options = results_.options;
    const auto ranks = static_cast<std::size_t>(comm_.size());
    ClockEvent event{.achieved_wait = steady_time() - synced_at_[scheme],
                     .measured_at = std::vector<double>(ranks, unknown),
                     .offset = std::vector<double>(ranks, unknown),
                     .offset_bound = std::vector<double>(ranks, unknown),
                     .error_bound = {},
                     .expected_error = {},
                     .true_error = {}};
    // Reads the bound after the error: the bound must hold at the time of the error, and it grows.
    const double error = results_.truth ? clock.true_error() : unknown;
    const ClockError reported = clock.error();
    take_turns(comm_, pairs_, [&](std::size_t, const Pair &pair) {
        const Downbeat_offset measured = measure_offset_nearest_zero(
            clock.handle(), pair, DOWNBEAT_GLOBAL, options.estimator.c_str(), static_cast<int>(options.rounds));
        const auto rank = static_cast<std::size_t>(pair.answerer);
        event.offset[rank] = measured.offset;
        event.offset_bound[rank] = measured.bound;
        event.measured_at[rank] = steady_time() - synced_at_[scheme];
    });
    const std::vector<double> gathered = gather_quietly(comm_, {error, reported.bound, reported.expected});
    for (std::size_t i = 0; i + 2 < gathered.size(); i += 3) { // the three values of each rank
        event.true_error.push_back(gathered[i]);
        event.error_bound.push_back(gathered[i + 1]);
        event.expected_error.push_back(gathered[i + 2]);
    }
    run_of(scheme, repetition).events[wait] = event;
    if (comm_.is_root()) {
        ++checks_;
        const std::size_t checks =
            options.schemes.size() * static_cast<std::size_t>(options.repetitions + 1) * options.waits.size();
        progress_.update(checks_, checks - checks_);
    }
}

} // namespace bench
