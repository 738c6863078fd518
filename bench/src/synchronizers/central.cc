#include "clocks/steady_time.h"
#include "mpi/mpi_check.h"
#include "synchronizers/barrier_synchronizer.h"

namespace bench {
namespace {

// Number of polls after which a waiting rank yields its processor: the rank it waits for may need it, and MPI does not
// yield when it reads memory of the same node.
constexpr int looks_per_yield = 100;

/// All ranks increment a counter at rank 0; the last one releases the others, each through a word in that rank's own
/// memory. So each rank polls its own memory and not the one word that late ranks need, and while polling it also
/// serves accesses to its memory, which a rank that has left would not do.
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
    enum Word { counter, release, words };

    void barrier() override {
        ++barriers_;
        // The counter is never reset, so that no rank can count itself at a wrong moment.
        if (fetch(1, MPI_SUM, 0, counter) + 1 < barriers_ * size_) {
            for (int looks = 1; fetch(0, MPI_NO_OP, rank_, release) < barriers_; ++looks) {
                if (looks % looks_per_yield == 0) {
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

    /// The word as it was before.
    long fetch(long value, MPI_Op operation, int rank, int word) const {
        long before = 0;
        check(MPI_Fetch_and_op(&value, &before, MPI_LONG, rank, word, operation, window_), "MPI_Fetch_and_op");
        check(MPI_Win_flush(rank, window_), "MPI_Win_flush");
        return before;
    }

    MPI_Win window_ = MPI_WIN_NULL;
    int rank_;
    long size_;
    long barriers_ = 0;
};

} // namespace

SynchronizerInfo synchronizers::central() {
    return {{"central",
             "one-sided: a counter at rank 0; the last rank to arrive releases the others",
             "Mellor-Crummey and Scott 1991, section 3.1",
             {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<Central>(arguments);
            }};
}

} // namespace bench
