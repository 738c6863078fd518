// Times the round trip of a cache line or of a message between neighboring ranks (neighbor_round_trip.h).
#include "run/neighbor_round_trip.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "rules/statistics.h"

#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <new>

namespace bench {
namespace {

constexpr int line_batches = 32;    // batches of a reading of cache lines
constexpr int line_trips = 4;       // round trips of such a batch
constexpr int message_batches = 12; // batches of a reading of messages, each of a single round trip

// Polls after which a rank concludes that its partner has no processor. They take some microseconds, much longer than a
// cache line.
constexpr long max_polls = 10000;
constexpr double max_reading_time = 500e-6; // a reading ends after this time without an answer, s

constexpr std::uint32_t stop_question = std::numeric_limits<std::uint32_t>::max(); // ends a reading
constexpr int stop_tag = 1; // tag of the message that ends a reading

constexpr std::size_t line_size = 128; // bytes between the lines of pairs; processors fetch cache lines in pairs

} // namespace

NeighborRoundTrip::NeighborRoundTrip(const Communicator &comm) : comm_(comm) {
    if (is_simulated()) {
        return;
    }
    check(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &pairs_),
          "MPI_Comm_split_type");
    int size = 0;
    check(MPI_Comm_size(pairs_, &size), "MPI_Comm_size");
    int max_ranks_per_node = 0;
    check(MPI_Allreduce(&size, &max_ranks_per_node, 1, MPI_INT, MPI_MAX, comm.handle()), "MPI_Allreduce");
    if (max_ranks_per_node == 1) { // pairs of ranks of different nodes, without shared memory
        check(MPI_Comm_free(&pairs_), "MPI_Comm_free");
        check(MPI_Comm_dup(comm.handle(), &pairs_), "MPI_Comm_dup");
        size = comm.size();
    }
    int rank = 0;
    check(MPI_Comm_rank(pairs_, &rank), "MPI_Comm_rank");
    is_asker_ = rank % 2 == 0;
    if ((rank ^ 1) < size) {
        partner_ = rank ^ 1;
    }
    if (max_ranks_per_node == 1) {
        return;
    }
    void *memory = nullptr;
    check(MPI_Win_allocate_shared(2 * line_size, 1, MPI_INFO_NULL, pairs_, static_cast<void *>(&memory), &window_),
          "MPI_Win_allocate_shared");
    MPI_Aint bytes = 0;
    int unit = 0;
    check(MPI_Win_shared_query(window_, rank - rank % 2, &bytes, &unit, static_cast<void *>(&memory)),
          "MPI_Win_shared_query");
    // Both ranks of the pair align to the same line, because their addresses differ by a multiple of the page size.
    auto space = static_cast<std::size_t>(bytes);
    memory = std::align(line_size, line_size, memory, space);
    line_ = is_asker_ ? new (memory) Line : static_cast<Line *>(memory);
    check(MPI_Barrier(pairs_), "MPI_Barrier");
}

NeighborRoundTrip::~NeighborRoundTrip() {
    if (std::uncaught_exceptions() > 0) {
        return; // after an error on this rank, other ranks may not be here, and freeing would wait for them
    }
    if (window_ != MPI_WIN_NULL) {
        MPI_Win_free(&window_);
    }
    if (pairs_ != MPI_COMM_NULL) {
        MPI_Comm_free(&pairs_);
    }
}

double NeighborRoundTrip::read() {
    if (pairs_ == MPI_COMM_NULL) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    check(MPI_Barrier(comm_.handle()), "MPI_Barrier");
    double trip = 0.0; // a rank without a partner, or that answers, does not affect the maximum
    if (partner_ != MPI_PROC_NULL) {
        if (is_asker_) {
            trip = line_ != nullptr ? time_line() : time_messages();
        } else if (line_ != nullptr) {
            return_line();
        } else {
            return_messages();
        }
    }
    // A disturbed pair might be the slowest pair, so without its time the maximum is not valid.
    trip = std::isnan(trip) ? std::numeric_limits<double>::infinity() : trip;
    double slowest = 0.0;
    check(MPI_Reduce(&trip, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm_.handle()), "MPI_Reduce");
    return slowest > 0.0 && std::isfinite(slowest) ? slowest : std::numeric_limits<double>::quiet_NaN();
}

double NeighborRoundTrip::time_line() const {
    const double end = steady_time() + max_reading_time;
    std::uint32_t number = 0;
    const auto batch = [&] {
        for (int trip = 0; trip < line_trips; ++trip) {
            line_->question.store(++number, std::memory_order_release);
            long polls = 0;
            while (line_->answer.load(std::memory_order_acquire) != number &&
                   (polls <= max_polls || steady_time() < end)) {
                if (++polls > max_polls) {
                    give_way();
                }
            }
            if (polls > max_polls) {
                return false;
            }
        }
        return true;
    };
    const double time = time_round_trips({.batches = line_batches,
                                          .per_batch = line_trips,
                                          .longest = max_reading_time,
                                          .batch = batch,
                                          .clock = steady_time});
    line_->question.store(stop_question, std::memory_order_release);
    return time;
}

// Waits without a limit: the asker always sends `stop_question`, and the following reduction would wait for the asker,
// anyway.
void NeighborRoundTrip::return_line() const {
    std::uint32_t last = 0;
    for (long polls = 0;; ++polls) {
        const std::uint32_t number = line_->question.load(std::memory_order_acquire);
        if (number == stop_question) {
            line_->answer.store(0, std::memory_order_relaxed); // for the next reading, which begins with a barrier
            line_->question.store(0, std::memory_order_relaxed);
            return;
        }
        if (number != last) {
            last = number;
            line_->answer.store(last, std::memory_order_release);
            polls = 0;
        } else if (polls > max_polls) {
            give_way();
        }
    }
}

double NeighborRoundTrip::time_messages() const {
    const auto batch = [this] {
        check(MPI_Send(nullptr, 0, MPI_BYTE, partner_, 0, pairs_), "MPI_Send");
        check(MPI_Recv(nullptr, 0, MPI_BYTE, partner_, 0, pairs_, MPI_STATUS_IGNORE), "MPI_Recv");
        return true;
    };
    const double time = time_round_trips({.batches = message_batches,
                                          .per_batch = 1,
                                          .longest = std::numeric_limits<double>::infinity(),
                                          .batch = batch,
                                          .clock = steady_time});
    check(MPI_Send(nullptr, 0, MPI_BYTE, partner_, stop_tag, pairs_), "MPI_Send");
    return time;
}

void NeighborRoundTrip::return_messages() const {
    for (;;) {
        MPI_Status status;
        check(MPI_Recv(nullptr, 0, MPI_BYTE, partner_, MPI_ANY_TAG, pairs_, &status), "MPI_Recv");
        if (status.MPI_TAG == stop_tag) {
            return;
        }
        check(MPI_Send(nullptr, 0, MPI_BYTE, partner_, 0, pairs_), "MPI_Send");
    }
}

} // namespace bench
