// Quiet collectives and measurements of clock offsets (offsets.h).
#include "mpi/offsets.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mpix_harmonize.h>
#include <sched.h>
#include <thread>

namespace bench {

void wait_quietly(MPI_Request *request) {
    if (is_simulated()) { // each rank has its own processor, so no wait disturbs another rank
        check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
        return;
    }
    constexpr int max_yields = 50; // polls with a yield, before the first sleep
    constexpr std::chrono::microseconds max_sleep{1000};
    std::chrono::microseconds sleep{50};
    for (int polls = 0;; ++polls) {
        int done = 0;
        check(MPI_Test(request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) {
            return;
        }
        if (polls < max_yields) {
            sched_yield();
        } else {
            std::this_thread::sleep_for(sleep);
            sleep = std::min(2 * sleep, max_sleep);
        }
    }
}

void barrier_quietly(const Communicator &comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm.handle(), &request), "MPI_Ibarrier");
    wait_quietly(&request);
}

long broadcast_quietly(const Communicator &comm, long value) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(&value, 1, MPI_LONG, 0, comm.handle(), &request), "MPI_Ibcast");
    wait_quietly(&request);
    return value;
}

std::vector<double> gather_quietly(const Communicator &comm, const std::vector<double> &values) {
    const int count = static_cast<int>(values.size());
    std::vector<double> gathered(comm.is_root() ? values.size() * static_cast<std::size_t>(comm.size()) : 0);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Igather(values.data(), count, MPI_DOUBLE, gathered.data(), count, MPI_DOUBLE, 0, comm.handle(), &request),
          "MPI_Igather");
    wait_quietly(&request);
    return gathered;
}

void send_to_root(const Communicator &comm, int source, std::vector<double> &values) {
    constexpr int tag = 3; // take_turns() uses 1 and 2
    const int count = static_cast<int>(values.size());
    if (source == 0 || (comm.rank() != 0 && comm.rank() != source)) {
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    if (comm.is_root()) {
        check(MPI_Irecv(values.data(), count, MPI_DOUBLE, source, tag, comm.handle(), &request), "MPI_Irecv");
    } else {
        check(MPI_Isend(values.data(), count, MPI_DOUBLE, 0, tag, comm.handle(), &request), "MPI_Isend");
    }
    wait_quietly(&request);
}

namespace {

// Rank 0 signals the two ranks of a pair to begin; both report when they are done.
constexpr int begin_tag = 1;
constexpr int done_tag = 2;

// Sends an empty message, unless `rank` is this rank. Waits quietly.
void send_signal(const Communicator &comm, int rank, int tag) {
    if (rank != comm.rank()) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag, comm.handle(), &request), "MPI_Isend");
        wait_quietly(&request);
    }
}

// Receives the message of send_signal(), unless `rank` is this rank. Waits quietly.
void receive_signal(const Communicator &comm, int rank, int tag) {
    if (rank != comm.rank()) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Irecv(nullptr, 0, MPI_BYTE, rank, tag, comm.handle(), &request), "MPI_Irecv");
        wait_quietly(&request);
    }
}

} // namespace

void take_turns(const Communicator &comm, const std::vector<Pair> &pairs,
                const std::function<void(std::size_t, const Pair &)> &work) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Pair &pair = pairs[i];
        const bool in_pair = comm.rank() == pair.asker || comm.rank() == pair.answerer;
        if (comm.is_root()) {
            send_signal(comm, pair.asker, begin_tag);
            send_signal(comm, pair.answerer, begin_tag);
        } else if (in_pair) {
            receive_signal(comm, 0, begin_tag);
        }
        if (in_pair) {
            work(i, pair);
        }
        if (comm.is_root()) {
            receive_signal(comm, pair.asker, done_tag);
            receive_signal(comm, pair.answerer, done_tag);
        } else if (in_pair) {
            send_signal(comm, 0, done_tag);
        }
    }
}

std::vector<Downbeat_offset> measure_offsets(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                             int rounds) {
    std::vector<Downbeat_offset> offsets(static_cast<std::size_t>(rounds));
    for (Downbeat_offset &offset : offsets) {
        check(Downbeat_measure(comm, pair.asker, pair.answerer, timeline, estimator, &offset), "Downbeat_measure");
    }
    return offsets;
}

Downbeat_offset measure_offset_nearest_zero(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                            int rounds) {
    const std::vector<Downbeat_offset> offsets = measure_offsets(comm, pair, timeline, estimator, rounds);
    return *std::ranges::min_element(offsets, [](const Downbeat_offset &a, const Downbeat_offset &b) {
        return std::abs(a.offset) < std::abs(b.offset);
    });
}

Downbeat_offset measure_offset_with_smallest_bound(MPI_Comm comm, const Pair &pair, int timeline, const char *estimator,
                                                   int rounds) {
    const std::vector<Downbeat_offset> offsets = measure_offsets(comm, pair, timeline, estimator, rounds);
    return *std::ranges::min_element(offsets, {}, &Downbeat_offset::bound);
}

std::vector<RankOffset> measure_agreement(const Communicator &comm, const GlobalClock &clock) {
    constexpr int rounds = 3; // a delayed message widens the bound of its round; judge_clocks takes the narrowest
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::vector<OffsetRound>> measured(ranks);
    std::vector<Pair> pairs;
    for (int rank = 1; rank < comm.size(); ++rank) {
        pairs.push_back({0, rank});
    }
    take_turns(comm, pairs, [&](std::size_t, const Pair &pair) {
        for (const Downbeat_offset &round : measure_offsets(comm.handle(), pair, DOWNBEAT_GLOBAL, nullptr, rounds)) {
            measured[static_cast<std::size_t>(pair.answerer)].push_back({round.offset, round.bound});
        }
    });
    double bound = 0.0; // read after the measurement, so that it includes the drift until then
    check(MPIX_Harmonize_error_bound(comm.handle(), &bound), "MPIX_Harmonize_error_bound");
    const std::vector<double> bounds = gather_quietly(comm, {bound});
    MPIX_Harmonize_stats stats{};
    check(MPIX_Harmonize_get_stats(comm.handle(), &stats), "MPIX_Harmonize_get_stats");
    constexpr std::size_t width = 5; // values per rank
    const std::vector<double> gathered =
        gather_quietly(comm, {static_cast<double>(stats.contradictions), clock.share_unsure(stats), stats.sync_error,
                              stats.flag_error, stats.tolerance});
    std::vector<RankOffset> offsets;
    for (std::size_t rank = 1; rank < bounds.size(); ++rank) {
        const double *values = &gathered[width * rank]; // in the order in which they were gathered
        offsets.push_back({.rounds = measured[rank],
                           .error_bound = bounds[rank],
                           .contradictions = std::llround(values[0]),
                           .unsure = values[1],
                           .sync_error = values[2],
                           .flag_error = values[3],
                           .tolerance = values[4]});
    }
    return offsets;
}

} // namespace bench
