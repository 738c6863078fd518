// Overhead of the harness: its samples and hand-written loops, in turns in one launch, with the same library and
// the same buffers, in one state of the machine. Run by `make bench-overhead`.

#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "operations/operation.h"
#include "output/output.h"
#include "rules/cell.h"
#include "rules/metric.h"
#include "rules/statistics.h"
#include "run/neighbor_round_trip.h"
#include "run/sampler.h"
#include "synchronizers/synchronizer.h"
#include "text/component.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mpi.h>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The last call that the harness has made, so that the loop can make the same one with the same buffers. Both go
/// through these functions, which cost either as much.
struct LastCall {
    const void *send;
    void *receive;
    int count;
    MPI_Datatype type;
} last_call;

} // namespace

extern "C" {

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    last_call = {send, receive, count, type};
    return PMPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    last_call = {nullptr, buffer, count, type};
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    last_call = {send, receive, count, type};
    return PMPI_Reduce(send, receive, count, type, op, root, comm);
}

int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    last_call = {send, receive, count, type};
    return PMPI_Alltoall(send, count, type, receive, receive_count, receive_type, comm);
}

} // extern "C"

namespace bench {
namespace {

constexpr int rounds = 200;         // of each
constexpr long calls = 1000;        // per round, each a sample
constexpr long batches = 10;        // per round, of 100 calls
constexpr double most = 5e-9;       // s that a sample may take more, or ...
constexpr double most_share = 0.02; // ... as a share

/// Seconds per call of this rank, as OSU's benchmarks take them.
template <typename Call> double osu_loop(Call call, MPI_Comm comm) {
    double sum = 0.0;
    MPI_Barrier(comm);
    for (long i = 0; i < calls; ++i) {
        const double begin = MPI_Wtime();
        call();
        const double end = MPI_Wtime();
        sum += end - begin;
        MPI_Barrier(comm);
    }
    return sum / calls;
}

/// The same of many calls in a row, as any program would take them.
template <typename Call> double plain_loop(Call call, long in_a_row, MPI_Comm comm) {
    double sum = 0.0;
    for (long batch = 0; batch < batches; ++batch) {
        MPI_Barrier(comm);
        const double begin = MPI_Wtime();
        for (long i = 0; i < in_a_row; ++i) {
            call();
        }
        sum += MPI_Wtime() - begin;
    }
    return sum / static_cast<double>(batches * in_a_row);
}

struct Compared {
    std::string_view operation;
    std::uint64_t size;
    std::string_view timing;
};

/// The loop beside a timing scheme: seconds of this rank.
double by_hand(const Compared &what, const LastCall &a, long in_a_row, MPI_Comm comm) {
    const auto run = [&](auto call) {
        return what.timing == "batch" ? plain_loop(call, in_a_row, comm) : osu_loop(call, comm);
    };
    if (what.operation == "allreduce") {
        return run([&] { MPI_Allreduce(a.send, a.receive, a.count, a.type, MPI_SUM, comm); });
    }
    if (what.operation == "reduce") {
        return run([&] { MPI_Reduce(a.send, a.receive, a.count, a.type, MPI_SUM, 0, comm); });
    }
    if (what.operation == "bcast") {
        return run([&] { MPI_Bcast(a.receive, a.count, a.type, 0, comm); });
    }
    if (what.operation == "alltoall") {
        return run([&] { MPI_Alltoall(a.send, a.count, a.type, a.receive, a.count, a.type, comm); });
    }
    return run([] {});
}

/// Mean over ranks at rank 0.
double mean_over_ranks(double time, const Communicator &comm) {
    double sum = 0.0;
    check(PMPI_Reduce(&time, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm.handle()), "MPI_Reduce");
    return sum / comm.size();
}

double by_harness(Sampler &sampler, Synchronizer &synchronizer, Operation &operation, Timing &timing) {
    const std::vector<double> delays(timing.calls() == 1 ? calls : batches, 0.0);
    const Batch batch = sampler.sample(synchronizer, operation, timing, delays, 0.0);
    double sum = 0.0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        sum += find_by_name(all_metrics(), "latency_avg").value(batch[i]);
    }
    return sum / static_cast<double>(delays.size());
}

/// One round: means over ranks and calls, seconds.
struct Round {
    double loop;
    double harness;
    double lowest_trip;
    double highest_trip;
};

/// Factor between readings of two states of the machine, as python/downbeat/data/states.py has it.
constexpr double same_state = 1.5;

/// Rounds in the state of the machine that most of them are in.
std::vector<Round> of_one_state(std::vector<Round> found) {
    std::erase_if(found, [](const Round &round) { return std::isnan(round.lowest_trip); }); // no reading
    std::vector<double> trips;
    for (const Round &round : found) {
        trips.push_back(round.lowest_trip);
    }
    const double usual = summarize(trips).median;
    std::erase_if(found, [&](const Round &round) {
        return round.highest_trip > same_state * usual || round.lowest_trip < usual / same_state;
    });
    return found;
}

std::string compare(const Compared &what, const Communicator &comm, const GlobalClock &clock,
                    NeighborRoundTrip &round_trip) {
    const std::string name(what.operation);
    const std::string scheme(what.timing);
    const Component component = parse_component("operation", name, all_operations());
    const Component barrier = parse_component("synchronizer", "mpi_barrier", all_synchronizers());
    const Component timed = parse_component("timing scheme", scheme, all_timings());
    const auto operation = find_by_name(all_operations(), name).make({comm.handle(), what.size, component});
    const auto timing = find_by_name(all_timings(), scheme).make(timed);
    HarmonizedComms harmonized(comm, clock);
    const auto synchronizer = find_by_name(all_synchronizers(), "mpi_barrier")
                                  .make({comm, clock, comm.handle(), comm.handle(), harmonized, barrier});
    Sampler sampler(comm, clock, 0);
    operation->run();
    const LastCall call = last_call;
    std::mt19937_64 random(1);
    std::vector<Round> found;
    for (int i = 0; i < rounds; ++i) {
        const bool loop_first = random() % 2 == 0;
        Round round{};
        round.lowest_trip = round.highest_trip = round_trip.read();
        for (const bool loop : {loop_first, !loop_first}) {
            if (loop) {
                round.loop = mean_over_ranks(by_hand(what, call, timing->calls(), comm.handle()), comm);
            } else {
                round.harness = by_harness(sampler, *synchronizer, *operation, *timing);
            }
            const double reading = round_trip.read();
            round.lowest_trip = std::fmin(round.lowest_trip, reading); // ignores NaN
            round.highest_trip = std::fmax(round.highest_trip, reading);
        }
        found.push_back(round);
    }
    if (!comm.is_root()) {
        return "";
    }
    std::vector<double> loops;
    std::vector<double> harness;
    std::vector<double> differences;
    const std::vector<Round> alike = of_one_state(found);
    for (const Round &round : alike) {
        loops.push_back(round.loop);
        harness.push_back(round.harness);
        differences.push_back(round.harness - round.loop);
    }
    const double loop = summarize(loops).median;
    const Summary difference = summarize(differences);
    const bool met = difference.median <= std::max(most, most_share * loop);
    return fmt::format("{:<10} {:>7} {:<9} {:>6} {:>10.1f} {:>10.1f} {:>8.1f} {:>7.1f} to {:>5.1f} {:>7.1f}   {}\n",
                       name, what.size, scheme, alike.size(), loop * 1e9, summarize(harness).median * 1e9,
                       difference.median * 1e9, difference.median_low * 1e9, difference.median_high * 1e9,
                       difference.median / loop * 100, met ? "met" : "MISSED");
}

void run() {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    NeighborRoundTrip round_trip(comm);
    if (comm.is_root()) {
        fmt::print("time per call, mean over ranks [ns]: medians over {} rounds in turns, less those in another state "
                   "of the machine\nper_call: {} calls after a barrier each, beside OSU's loop; batch: {} times many "
                   "calls in a row, beside a loop\n\n"
                   "{:<10} {:>7} {:<9} {:>6} {:>10} {:>10} {:>8} {:>16} {:>7}   within {:g} ns or {:g} %\n",
                   rounds, calls, batches, "operation", "bytes", "timing", "rounds", "loop", "harness", "more", "95 %",
                   "[%]", most * 1e9, most_share * 100);
    }
    for (const Compared &what : std::initializer_list<Compared>{{"nothing", 0, "per_call"},
                                                                {"bcast", 512, "per_call"},
                                                                {"bcast", 1024, "per_call"},
                                                                {"reduce", 512, "per_call"},
                                                                {"reduce", 1024, "per_call"},
                                                                {"allreduce", 8, "per_call"},
                                                                {"allreduce", 64, "per_call"},
                                                                {"allreduce", 8, "batch"},
                                                                {"bcast", 8, "batch"},
                                                                {"alltoall", 8, "batch"},
                                                                {"allreduce", 65536, "batch"},
                                                                {"bcast", 65536, "batch"},
                                                                {"alltoall", 65536, "batch"}}) {
        const std::string line = compare(what, comm, clock, round_trip);
        fmt::print("{}", line);
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    try {
        bench::run();
    } catch (const std::exception &error) {
        bench::print_error(error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
