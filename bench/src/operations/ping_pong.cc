// Operation `ping_pong`: a message from a rank to another rank and back.
#include "mpi/communicator.h"
#include "operations/operation.h"
#include "text/error.h"

#include <fmt/format.h>
#include <limits>

namespace bench {
namespace {

constexpr int tag = 1;

/// A message from rank `first` to rank `second` and back. Only the time of the first rank counts, the round trip.
class PingPong : public Operation {
public:
    explicit PingPong(const OperationArguments &arguments)
        : comm_(arguments.comm), count_(static_cast<int>(arguments.size)),
          first_(static_cast<int>(arguments.component.whole("first"))),
          second_(static_cast<int>(arguments.component.whole("second"))), send_(arguments.size),
          receive_(arguments.size) {
        check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    }

    void run() override {
        if (rank_ == first_) {
            send(second_);
            receive(second_);
        } else if (rank_ == second_) {
            receive(first_);
            send(first_);
        }
    }

    long weight() const override { return 2; } // messages one after another; times are divided by their number
    std::vector<std::size_t> timed_ranks() const override { return {static_cast<std::size_t>(first_)}; }

    std::optional<Validation> validate() override {
        // Byte i of a rank's message; any values that differ between ranks and bytes.
        const auto value = [](int rank, int i) { return static_cast<unsigned char>(131 * (rank + 1) + 7 * i); };
        auto *const sent = static_cast<unsigned char *>(send_.data());
        auto *const received = static_cast<unsigned char *>(receive_.data());
        const bool takes_part = rank_ == first_ || rank_ == second_;
        const int peer = rank_ == first_ ? second_ : first_;
        for (int i = 0; i < count_; ++i) {
            sent[i] = value(rank_, i);
            received[i] = static_cast<unsigned char>(~value(peer, i));
        }
        run();
        Validation validation{.calls = 1, .wrong = 0, .error = ""};
        for (int i = 0; takes_part && i < count_; ++i) {
            if (received[i] != value(peer, i)) {
                validation.wrong = 1;
                validation.error = fmt::format("byte {} is {} instead of {}", i, received[i], value(peer, i));
                break;
            }
        }
        return validation;
    }

private:
    void send(int to) const { check(MPI_Send(send_.data(), count_, MPI_BYTE, to, tag, comm_), "MPI_Send"); }
    void receive(int from) const {
        check(MPI_Recv(receive_.data(), count_, MPI_BYTE, from, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    }

    MPI_Comm comm_;
    int rank_ = 0;
    int count_;
    int first_;
    int second_;
    Buffer send_;
    Buffer receive_;
};

/// Checks the parameters. Throws Error::usage unless they name two different ranks that exist.
SizeLimits limits(const Component &component, int ranks) {
    if (ranks < 2) {
        throw Error::usage("ping_pong cannot be measured on 1 rank; use at least 2");
    }
    for (const char *parameter : {"first", "second"}) {
        if (component.whole(parameter) >= ranks) {
            throw Error::usage(fmt::format("{} of ping_pong cannot be '{}'; use 0 to {}", parameter,
                                           component.word(parameter), ranks - 1));
        }
    }
    if (component.whole("first") == component.whole("second")) {
        throw Error::usage(
            fmt::format("first and second of ping_pong are both {}; use two different ranks", component.word("first")));
    }
    return {.divisor = 1, .max = std::numeric_limits<int>::max()};
}

} // namespace

OperationInfo operations::ping_pong() {
    constexpr int max = std::numeric_limits<int>::max();
    OperationInfo operation;
    static_cast<ComponentInfo &>(operation) = {
        "ping_pong",
        "a message to another rank and back (MPI_Send, MPI_Recv); times are half of the first rank's round trip",
        "",
        {{"first", "0", "rank that sends first; its time counts", ComponentValues::whole(0, max)},
         {"second", "1", "rank that answers", ComponentValues::whole(0, max)}}};
    operation.call = "MPI_Send, MPI_Recv";
    operation.size_meaning = "of each message";
    operation.limits = limits;
    operation.datatype = [](const Component &, std::uint64_t) { return std::string("MPI_BYTE"); };
    operation.make = [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
        return std::make_unique<PingPong>(arguments);
    };
    return operation;
}

} // namespace bench
