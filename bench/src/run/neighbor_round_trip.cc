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

constexpr int line_batches = 32; // of four trips
constexpr int line_trips = 4;
constexpr int message_batches = 12; // of one trip

// Polls that take some microseconds, much longer than a cache line: after these the partner has no processor.
constexpr long patience = 10000;
constexpr double longest = 500e-6; // s, of a reading; a partner that does not answer by then is given up

constexpr std::uint32_t stop = std::numeric_limits<std::uint32_t>::max();
constexpr int stop_tag = 1;

constexpr std::size_t line_size = 128; // lines are fetched in pairs

} // namespace

NeighborRoundTrip::NeighborRoundTrip(const Communicator &comm) : comm_(comm) {
    if (!has_processors()) {
        return;
    }
    check(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &pairs_),
          "MPI_Comm_split_type");
    int size = 0;
    check(MPI_Comm_size(pairs_, &size), "MPI_Comm_size");
    int largest = 0;
    check(MPI_Allreduce(&size, &largest, 1, MPI_INT, MPI_MAX, comm.handle()), "MPI_Allreduce");
    if (largest == 1) {
        check(MPI_Comm_free(&pairs_), "MPI_Comm_free");
        check(MPI_Comm_dup(comm.handle(), &pairs_), "MPI_Comm_dup");
        size = comm.size();
    }
    int rank = 0;
    check(MPI_Comm_rank(pairs_, &rank), "MPI_Comm_rank");
    asks_ = rank % 2 == 0;
    if ((rank ^ 1) < size) {
        partner_ = rank ^ 1;
    }
    if (largest == 1) {
        return;
    }
    void *memory = nullptr;
    check(MPI_Win_allocate_shared(2 * line_size, 1, MPI_INFO_NULL, pairs_, static_cast<void *>(&memory), &window_),
          "MPI_Win_allocate_shared");
    MPI_Aint bytes = 0;
    int unit = 0;
    check(MPI_Win_shared_query(window_, rank - rank % 2, &bytes, &unit, static_cast<void *>(&memory)),
          "MPI_Win_shared_query");
    // The same place for both, whose addresses differ by pages.
    auto room = static_cast<std::size_t>(bytes);
    memory = std::align(line_size, line_size, memory, room);
    line_ = asks_ ? new (memory) Line : static_cast<Line *>(memory);
    check(MPI_Barrier(pairs_), "MPI_Barrier");
}

NeighborRoundTrip::~NeighborRoundTrip() {
    if (std::uncaught_exceptions() > 0) {
        return; // the others may know nothing of it, and freeing waits for them
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
    double trip = 0.0; // without a partner
    if (partner_ != MPI_PROC_NULL) {
        if (asks_) {
            trip = line_ != nullptr ? time_line() : time_messages();
        } else if (line_ != nullptr) {
            return_line();
        } else {
            return_messages();
        }
    }
    // One pair that was disturbed may be the slowest one: then the others' is another time, and no reading.
    trip = std::isnan(trip) ? std::numeric_limits<double>::infinity() : trip;
    double slowest = 0.0;
    check(MPI_Reduce(&trip, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm_.handle()), "MPI_Reduce");
    return slowest > 0.0 && std::isfinite(slowest) ? slowest : std::numeric_limits<double>::quiet_NaN();
}

double NeighborRoundTrip::time_line() const {
    const double end = steady_time() + longest;
    std::uint32_t number = 0;
    const auto batch = [&] {
        for (int trip = 0; trip < line_trips; ++trip) {
            line_->asked.store(++number, std::memory_order_release);
            long polls = 0;
            while (line_->answered.load(std::memory_order_acquire) != number &&
                   (polls <= patience || steady_time() < end)) {
                if (++polls > patience) {
                    give_way();
                }
            }
            if (polls > patience) {
                return false;
            }
        }
        return true;
    };
    const double time = time_round_trips(
        {.batches = line_batches, .per_batch = line_trips, .longest = longest, .batch = batch, .clock = steady_time});
    line_->asked.store(stop, std::memory_order_release);
    return time;
}

// Needs no bound: `stop` always comes, and the reduction that follows would wait for the partner, too.
void NeighborRoundTrip::return_line() const {
    std::uint32_t last = 0;
    for (long polls = 0;; ++polls) {
        const std::uint32_t number = line_->asked.load(std::memory_order_acquire);
        if (number == stop) {
            line_->answered.store(0, std::memory_order_relaxed); // for the next reading, which begins with a barrier
            line_->asked.store(0, std::memory_order_relaxed);
            return;
        }
        if (number != last) {
            last = number;
            line_->answered.store(last, std::memory_order_release);
            polls = 0;
        } else if (polls > patience) {
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
