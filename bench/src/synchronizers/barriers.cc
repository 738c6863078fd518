// The synchronizers that are barriers: MPI_Barrier, barriers made of messages, a one-sided barrier, and "none".
#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "synchronizers/synchronizer.h"

#include <bit>

namespace bench {
namespace {

/// A synchronizer without a common start time: no rank can be late. A rank with a delay waits for that time after it
/// has left the barrier (as in Niethammer 2016, section III.D).
class BarrierSynchronizer : public Synchronizer {
public:
    explicit BarrierSynchronizer(const SynchronizerArguments &arguments) : clock_(arguments.clock) {}

    bool start(double delay) override {
        barrier();
        if (delay > 0.0) {
            clock_.wait_until(clock_.now() + delay);
        }
        return true;
    }

private:
    /// Collective.
    virtual void barrier() = 0;

    const GlobalClock &clock_;
};

/// Calls MPI_Barrier `count` times in a row; 0 times for synchronizer "none".
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

/// Sends and receives the empty messages of a barrier. Messages between two ranks do not overtake each other, so all
/// rounds use the same tag.
struct Ranks {
    MPI_Comm messages; // communicator of the synchronizers' messages
    int rank;          // of this rank in it
    int size;          // number of its ranks

    void send(int to) const { check(MPI_Send(nullptr, 0, MPI_BYTE, to, 0, messages), "MPI_Send"); }
    void receive(int from) const {
        check(MPI_Recv(nullptr, 0, MPI_BYTE, from, 0, messages, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    void exchange(int to, int from) const {
        check(MPI_Sendrecv(nullptr, 0, MPI_BYTE, to, 0, nullptr, 0, MPI_BYTE, from, 0, messages, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    }
};

/// All ranks report to rank 0, which then releases them one by one.
void linear_barrier(const Ranks &ranks) {
    if (ranks.rank != 0) {
        ranks.send(0);
        ranks.receive(0);
        return;
    }
    for (int peer = 1; peer < ranks.size; ++peer) {
        ranks.receive(peer);
    }
    for (int peer = 1; peer < ranks.size; ++peer) {
        ranks.send(peer);
    }
}

/// A token goes around the ring twice: in the first round the ranks report, in the second they are released. Rank 0
/// also receives the token at the end of the second round, so that it cannot be taken for a token of the next barrier.
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

/// Pairs exchange messages at distances 1, 2, 4, ... That needs a power of two of ranks: further ranks ("guests")
/// report to a rank below that power, which takes part for both.
void recursive_doubling_barrier(const Ranks &ranks) {
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks.size)));
    if (ranks.rank >= power) {
        ranks.send(ranks.rank - power);
        ranks.receive(ranks.rank - power);
        return;
    }
    const bool has_guest = ranks.rank + power < ranks.size;
    if (has_guest) {
        ranks.receive(ranks.rank + power);
    }
    for (int distance = 1; distance < power; distance *= 2) {
        ranks.exchange(ranks.rank ^ distance, ranks.rank ^ distance);
    }
    if (has_guest) {
        ranks.send(ranks.rank + power);
    }
}

/// Dissemination: notifies the rank at distance 1, 2, 4, ... above, modulo the number of ranks.
void bruck_barrier(const Ranks &ranks) {
    for (int distance = 1; distance < ranks.size; distance *= 2) { // until all ranks know of all
        ranks.exchange((ranks.rank + distance) % ranks.size, (ranks.rank + ranks.size - distance) % ranks.size);
    }
}

/// Gathers up a binomial tree with rank 0 as the root, then releases down the same tree.
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

/// A barrier made of messages, which is the same with every MPI library (Hunold 2015, section 4).
template <void (*run)(const Ranks &)> class MessageBarrier : public BarrierSynchronizer {
public:
    explicit MessageBarrier(const SynchronizerArguments &arguments)
        : BarrierSynchronizer(arguments), ranks_{arguments.messages, arguments.comm.rank(), arguments.comm.size()} {}

private:
    void barrier() override { run(ranks_); }

    Ranks ranks_;
};

// Number of polls after which a waiting rank yields its processor, which the last rank may need. MPI does not yield
// when it reads memory of the same node.
constexpr int polls_per_yield = 100;

/// A one-sided barrier. All ranks increment a counter in the memory of rank 0; the last rank releases the others, each
/// through a word in that rank's memory. Each rank polls its own memory, so that polls do not slow down the counter. By
/// polling through MPI, it also lets MPI process accesses by other ranks.
class Central : public BarrierSynchronizer {
public:
    explicit Central(const SynchronizerArguments &arguments)
        : BarrierSynchronizer(arguments), rank_(arguments.comm.rank()), size_(arguments.comm.size()) {
        void *memory = nullptr;
        check(
            MPI_Win_allocate(words * sizeof(long), sizeof(long), MPI_INFO_NULL, arguments.messages, &memory, &window_),
            "MPI_Win_allocate");
        check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
        check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
        for (int word = 0; word < words; ++word) {
            fetch(0, MPI_REPLACE, rank_, word);
        }
        check(MPI_Barrier(arguments.messages), "MPI_Barrier"); // no rank counts itself before the counter is 0
    }
    ~Central() override {
        MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }

private:
    // Indices of the words of a rank's window: the barriers that all ranks have entered, summed over the ranks (rank 0
    // only); and the last barrier from which the rank is released. `words` is their number.
    enum Word { counter, release, words };

    void barrier() override {
        ++barriers_;
        // The counter is never reset: a reset would need a time at which no rank increments it.
        if (fetch(1, MPI_SUM, 0, counter) + 1 < barriers_ * size_) {
            for (int polls = 1; fetch(0, MPI_NO_OP, rank_, release) < barriers_; ++polls) {
                if (polls % polls_per_yield == 0) {
                    give_way();
                }
            }
            return;
        }
        for (int rank = 0; rank < size_; ++rank) {
            if (rank != rank_) {
                fetch(barriers_, MPI_REPLACE, rank, release);
            }
        }
    }

    /// Applies `operation` with `value` to a word of `rank`, and returns the previous value of the word.
    long fetch(long value, MPI_Op operation, int rank, int word) const {
        long before = 0;
        check(MPI_Fetch_and_op(&value, &before, MPI_LONG, rank, word, operation, window_), "MPI_Fetch_and_op");
        check(MPI_Win_flush(rank, window_), "MPI_Win_flush");
        return before;
    }

    MPI_Win window_ = MPI_WIN_NULL;
    int rank_;
    long size_;
    long barriers_ = 0; // number of barriers so far
};

/// Makes a synchronizer of `count` MPI_Barriers for the registry.
template <long count> std::unique_ptr<Synchronizer> make_mpi_barriers(const SynchronizerArguments &arguments) {
    return std::make_unique<MpiBarriers>(arguments, count);
}

/// SynchronizerInfo::calls_mpi_barrier of synchronizers that always call MPI_Barrier.
bool calls_mpi_barrier(const Component &) { return true; }

} // namespace

SynchronizerInfo synchronizers::none() {
    return {{"none", "no synchronization: each rank starts as soon as it has finished the previous operation",
             "Hoefler 2008, listing 2"},
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
        {{"double_mpi_barrier", "mpi_barrier(count=2): the second starts with the ranks aligned by the first",
          "IMB, optionally"},
         make_mpi_barriers<2>,
         calls_mpi_barrier},
        {{"linear", "all ranks report to rank 0, which releases them one by one", "Schuchart 2023, section 2.1"},
         Make<MessageBarrier<linear_barrier>>{}},
        {{"double_ring", "a token goes twice around the ring of ranks", "Schuchart 2023, section 2.1"},
         Make<MessageBarrier<double_ring_barrier>>{}},
        {{"recursive_doubling", "pairs of ranks exchange messages, at distances 1, 2, 4, ...",
          "Schuchart 2023, section 2.1"},
         Make<MessageBarrier<recursive_doubling_barrier>>{}},
        {{"bruck", "dissemination: each rank notifies the one 1, 2, 4, ... ahead, modulo the number of ranks",
          "Hensgen, Finkel and Manber 1988; Schuchart 2023, section 2.1"},
         Make<MessageBarrier<bruck_barrier>>{}},
        {{"tree", "gathers up a binomial tree and releases down the same tree", "Schuchart 2023, section 2.1"},
         Make<MessageBarrier<tree_barrier>>{}},
        {{"central", "one-sided: a counter at rank 0; the last rank to arrive releases the others",
          "Mellor-Crummey and Scott 1991, section 3.1"},
         Make<Central>{}}};
    return all;
}

} // namespace bench
