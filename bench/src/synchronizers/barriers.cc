#include "mpi/mpi_check.h"
#include "synchronizers/barrier_synchronizer.h"

#include <bit>

namespace bench {
namespace {

/// MPI_Barrier, several times in a row; not at all for none.
class MpiBarriers : public BarrierSynchronizer {
public:
    MpiBarriers(const SynchronizerArguments &arguments, long count)
        : BarrierSynchronizer(arguments), comm_(arguments.barrier), count_(count) {}

private:
    void barrier() override {
        for (long i = 0; i < count_; ++i) {
            check(MPI_Barrier(comm_), "MPI_Barrier");
        }
    }

    MPI_Comm comm_;
    long count_;
};

/// The ranks of a barrier, and its empty messages. Messages between two ranks do not overtake each other, so that one
/// tag serves all rounds.
struct Ranks {
    MPI_Comm messages;
    int rank;
    int size;

    void send(int to) const { check(MPI_Send(nullptr, 0, MPI_BYTE, to, 0, messages), "MPI_Send"); }
    void receive(int from) const {
        check(MPI_Recv(nullptr, 0, MPI_BYTE, from, 0, messages, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    void exchange(int to, int from) const {
        check(MPI_Sendrecv(nullptr, 0, MPI_BYTE, to, 0, nullptr, 0, MPI_BYTE, from, 0, messages, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    }
};

void linear_barrier(const Ranks &ranks) {
    if (ranks.rank != 0) {
        ranks.send(0);
        ranks.receive(0);
        return;
    }
    for (int other = 1; other < ranks.size; ++other) {
        ranks.receive(other);
    }
    for (int other = 1; other < ranks.size; ++other) {
        ranks.send(other);
    }
}

/// The first round gathers, the second releases. Rank 0 waits for the end of the second too, so that its message is not
/// mistaken for one of the next barrier.
void double_ring_barrier(const Ranks &ranks) {
    if (ranks.size == 1) {
        return;
    }
    const int left = (ranks.rank + ranks.size - 1) % ranks.size;
    const int right = (ranks.rank + 1) % ranks.size;
    for (int round = 0; round < 2; ++round) {
        if (ranks.rank != 0) {
            ranks.receive(left);
        }
        ranks.send(right);
        if (ranks.rank == 0) {
            ranks.receive(left);
        }
    }
}

/// Ranks at and above the largest power of two are represented by partners below it.
void recursive_doubling_barrier(const Ranks &ranks) {
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks.size)));
    if (ranks.rank >= power) {
        ranks.send(ranks.rank - power);
        ranks.receive(ranks.rank - power);
        return;
    }
    const bool represents = ranks.rank + power < ranks.size;
    if (represents) {
        ranks.receive(ranks.rank + power);
    }
    for (int distance = 1; distance < power; distance *= 2) {
        ranks.exchange(ranks.rank ^ distance, ranks.rank ^ distance);
    }
    if (represents) {
        ranks.send(ranks.rank + power);
    }
}

void bruck_barrier(const Ranks &ranks) {
    for (int distance = 1; distance < ranks.size; distance *= 2) {
        ranks.exchange((ranks.rank + distance) % ranks.size, (ranks.rank + ranks.size - distance) % ranks.size);
    }
}

void tree_barrier(const Ranks &ranks) {
    int distance = 1;
    for (; distance < ranks.size && (ranks.rank & distance) == 0; distance *= 2) {
        if (ranks.rank + distance < ranks.size) {
            ranks.receive(ranks.rank + distance);
        }
    }
    if (ranks.rank != 0) {
        ranks.send(ranks.rank - distance);
        ranks.receive(ranks.rank - distance);
    }
    // Largest subtree first: it takes the most rounds.
    for (distance /= 2; distance > 0; distance /= 2) {
        if (ranks.rank + distance < ranks.size) {
            ranks.send(ranks.rank + distance);
        }
    }
}

/// The benchmark's own barriers, made of messages, so that they are the same under every MPI library (Hunold 2015,
/// section 4).
template <void (*run)(const Ranks &)> class MessageBarrier : public BarrierSynchronizer {
public:
    explicit MessageBarrier(const SynchronizerArguments &arguments)
        : BarrierSynchronizer(arguments), ranks_{arguments.messages, arguments.comm.rank(), arguments.comm.size()} {}

private:
    void barrier() override { run(ranks_); }

    Ranks ranks_;
};

template <void (*run)(const Ranks &)>
std::unique_ptr<Synchronizer> make_message_barrier(const SynchronizerArguments &arguments) {
    return std::make_unique<MessageBarrier<run>>(arguments);
}

template <long count> std::unique_ptr<Synchronizer> make_mpi_barriers(const SynchronizerArguments &arguments) {
    return std::make_unique<MpiBarriers>(arguments, count);
}

bool calls_mpi_barrier(const Component &) { return true; }

} // namespace

SynchronizerInfo synchronizers::none() {
    return {{"none",
             "no synchronization: each rank starts as soon as it has finished the previous operation",
             "Hoefler 2008, listing 2",
             {}},
            make_mpi_barriers<0>};
}

const std::vector<SynchronizerInfo> &all_barriers() {
    static const std::vector<SynchronizerInfo> all = {
        {{"mpi_barrier",
          "the MPI library's MPI_Barrier, as in other benchmarks",
          "Hunold 2015, section 2; Hoefler 2008, listing 3",
          {{"count", "1", "barriers in a row before each start, as in IMB", ComponentValues::whole(1, 1e6)}}},
         [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
             return std::make_unique<MpiBarriers>(arguments, arguments.component.whole("count"));
         },
         calls_mpi_barrier},
        {{"double_mpi_barrier",
          "mpi_barrier(count=2): the second starts with the ranks aligned by the first",
          "IMB, optionally",
          {}},
         make_mpi_barriers<2>,
         calls_mpi_barrier},
        {{"linear", "all ranks report to rank 0, which releases them one by one", "Schuchart 2023, section 2.1", {}},
         make_message_barrier<linear_barrier>},
        {{"double_ring", "a token goes twice around the ring of ranks", "Schuchart 2023, section 2.1", {}},
         make_message_barrier<double_ring_barrier>},
        {{"recursive_doubling",
          "pairs of ranks exchange messages, at distances 1, 2, 4, ...",
          "Schuchart 2023, section 2.1",
          {}},
         make_message_barrier<recursive_doubling_barrier>},
        {{"bruck",
          "dissemination: each rank notifies the one 1, 2, 4, ... ahead, modulo the number of ranks",
          "Hensgen, Finkel and Manber 1988; Schuchart 2023, section 2.1",
          {}},
         make_message_barrier<bruck_barrier>},
        {{"tree", "gathers up a binomial tree and releases down the same tree", "Schuchart 2023, section 2.1", {}},
         make_message_barrier<tree_barrier>},
        synchronizers::central()};
    return all;
}

} // namespace bench
